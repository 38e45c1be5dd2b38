"""Callbacks, Ctrl-C, threads, processes: the interpreter stays in charge."""

import multiprocessing
import threading
import time

import pytest
from conftest import interrupt_soon, random_graph

import serenity


@pytest.fixture(scope="module")
def hard() -> serenity.Graph:
    """A graph whose search takes far longer than any test waits: nobody has proved its optimum."""
    return serenity.load("zoo:randwire-cifar10?stage=1&nodes=128&seed=1")


def search(graph: serenity.Graph, **options) -> serenity.Result:
    return serenity.schedule(graph, effort=1000, time_limit=30, **options)


def test_progress_is_told(hard):
    seen = []

    def stop_after_three(best, bound, states, seconds):
        seen.append((best, bound, states, seconds))
        if len(seen) == 3:
            raise StopIteration

    with pytest.raises(StopIteration):
        search(hard, progress=stop_after_three)
    assert len(seen) == 3 and all(bound <= best for best, bound, _, _ in seen)
    assert [row[3] for row in seen] == sorted(row[3] for row in seen)


def test_what_a_callback_raises_comes_through(hard):
    def fail(*_):
        raise ZeroDivisionError("mine")

    begin = time.process_time()
    with pytest.raises(ZeroDivisionError, match="mine"):
        search(hard, progress=fail)
    assert time.process_time() - begin < 60


def test_ctrl_c_keeps_the_best(hard):
    interrupt_soon()
    begin = time.process_time()
    best = search(hard)
    assert time.process_time() - begin < 60
    assert best.proof == "gap" and "cancelled" in best.stopped
    assert sorted(best.order) == list(range(len(hard))) and best.bound <= best.peak <= hard.peak()


def test_other_threads_run_meanwhile(hard):
    counted, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    serenity.schedule(hard, time_limit=0.5, effort=1000)
    stop.set()
    thread.join()
    assert counted[0] > 50


def test_ten_threads_at_once():
    graphs = [random_graph(seed) for seed in range(10)]
    alone = [serenity.optimize(graph) for graph in graphs]
    together: list = [None] * 10

    def run(i):
        together[i] = serenity.optimize(graphs[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone


def peak_of(seed: int) -> serenity.Result:
    return serenity.optimize(random_graph(seed))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"SKIPPED: this system cannot {method}")
    serenity.optimize_many([random_graph(seed) for seed in range(4)])
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(peak_of, range(4)) == [peak_of(seed) for seed in range(4)]
