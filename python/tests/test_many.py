"""Many graphs on all cores."""

import pickle

import pytest
from conftest import interrupt_soon, random_graph

import serenity


def test_results_come_in_order_and_are_those_of_optimize():
    graphs = [random_graph(seed, ops=20 + seed % 20) for seed in range(60)]
    results = serenity.optimize_many(graphs, workers=4)
    assert results == [serenity.optimize(graph) for graph in graphs]
    assert results == serenity.optimize_many(graphs, workers=1)
    assert pickle.loads(pickle.dumps(results)) == results


def test_one_failure_does_not_end_the_rest(diamond, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    sources = [diamond, "no/such.json", diamond, broken, diamond]
    results = serenity.optimize_many(sources)
    assert [type(result).__name__ for result in results] == [
        "Result",
        "MissingFileError",
        "Result",
        "InputError",
        "Result",
    ]
    with pytest.raises(FileNotFoundError):
        serenity.optimize_many(sources, errors="raise")
    # What fails later is kept in its place too.
    assert isinstance(serenity.optimize_many([diamond, diamond], loops=True)[1], ValueError)


def test_no_graphs_at_all():
    assert serenity.optimize_many([]) == []


def test_progress(diamond):
    seen = []
    serenity.optimize_many(
        [random_graph(seed, ops=60) for seed in range(200)], progress=lambda *news: seen.append(news)
    )
    assert all(total == 200 for _, total in seen) and [done for done, _ in seen] == sorted(done for done, _ in seen)

    def fail(done, total):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        serenity.optimize_many([random_graph(seed, ops=60) for seed in range(200)], progress=fail)


def test_ctrl_c_keeps_what_there_is():
    graphs = [random_graph(seed, ops=220, reach=60) for seed in range(6)]
    interrupt_soon()
    results = serenity.optimize_many(graphs, effort=1000, time_limit=60)
    assert len(results) == 6 and all(result.peak <= graph.peak() for result, graph in zip(results, graphs))
    assert any(result.proof == "gap" for result in results)


@pytest.mark.parametrize(
    "wrong, error", [({"workers": 0}, ValueError), ({"errors": "ignore"}, ValueError), ({"speed": 1}, TypeError)]
)
def test_wrong_options(wrong, error):
    with pytest.raises(error):
        serenity.optimize_many([], **wrong)
