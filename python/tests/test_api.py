"""Reading, optimising, saving."""

import doctest
import json
import pathlib
import pickle

import pytest

import serenity


def test_examples_in_the_documentation():
    from serenity import _graph, _place

    for module in (serenity, _graph, _place):
        results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
        assert results.attempted > 0 and results.failed == 0, module


def test_optimize_gives_an_order_with_its_proof(diamond):
    best = serenity.optimize(diamond)
    assert (best.before.peak, best.peak, best.bound, best.proof, best.stopped) == (14000, 11000, 11000, "optimal", None)
    assert best.is_optimal and best.arena is None and best.offsets is None and best.runtime == "plain"
    assert sorted(best.order) == [0, 1, 2, 3]
    assert diamond.peak() == 14000 and diamond.peak(best.order) == best.peak
    assert [step.op for step in best.steps] == best.order
    assert max(step.during for step in best.steps) == best.peak


def test_a_model_file(model: pathlib.Path, tmp_path: pathlib.Path):
    best = serenity.optimize(str(model))
    assert (best.before.arena, best.arena) == (194432, 75264)
    assert best.runtime == "tflm-planned" and best.offsets is not None
    target = tmp_path / "smaller.tflite"
    best.save(target)
    again = serenity.load(target)
    assert serenity.optimize(again, rewrite="none").before.arena == best.arena
    assert target.read_bytes() == best.to_bytes()
    best.save_plan(tmp_path / "plan.json")
    for plan in (best, tmp_path / "plan.json", best.plan):
        verdict = serenity.check(plan, model)
        assert verdict.valid and verdict.problems == []
        assert verdict.verified == (verdict.unverified == [])
    assert serenity.check(best, model, deep=True).verified
    best.save(tmp_path / "graph.json")
    assert len(serenity.load(tmp_path / "graph.json")) == best.after.ops == len(best.graph)


def test_a_page(model: pathlib.Path, tmp_path: pathlib.Path):
    best = serenity.optimize(model, budget="64KB")
    best.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and f"{best.needs:,}" in page
    with pytest.raises(serenity.Error, match="another process"):
        pickle.loads(pickle.dumps(best)).report(tmp_path / "other.html")
    assert not (tmp_path / "other.html").exists()


def test_bytes_tell_their_format(model: pathlib.Path, diamond):
    assert serenity.load(model.read_bytes()).format == "tflite"
    assert serenity.load(diamond.to_json().encode()).format == "json"
    assert serenity.load(bytearray(model.read_bytes()), format="tflite").format == "tflite"
    with pytest.raises(ValueError, match="not"):
        serenity.load(b"nonsense")


def test_a_forged_plan_is_refused(diamond):
    plan = dict(serenity.optimize(diamond).plan, peak=10000)
    verdict = serenity.check(plan, diamond)
    assert not verdict.valid and "11000" in " ".join(verdict.problems)


def test_the_parts_of_a_graph(diamond):
    assert [op.name for op in diamond.ops] == ["side", "big", "small", "out"]
    assert [tensor.bytes for tensor in diamond.tensors] == [1000, 4000, 9000, 1000, 1000]
    assert (diamond.inputs, diamond.outputs) == ([0], [4])
    assert diamond.ops[3].type == "ADD" and len(diamond) == 4 and "4 ops" in repr(diamond)
    assert json.loads(diamond.to_json())["name"] == "example"


def test_networkx_there_and_back():
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(name="nx")
    graph.add_node("x", bytes=1000, input=True)
    for name, size in [("side", 4000), ("big", 9000), ("small", 1000), ("out", 1000)]:
        graph.add_node(name, bytes=size)
    graph.add_edges_from([("x", "side"), ("x", "big"), ("big", "small"), ("side", "out"), ("small", "out")])
    made = serenity.Graph.from_networkx(graph)
    assert serenity.optimize(made).peak == 11000
    assert sorted(made.to_networkx().edges) == [(0, 3), (1, 2), (2, 3)]
    assert serenity.Graph.from_networkx(graph, bytes=lambda node: 10).peak() == 30
    with pytest.raises(ValueError, match="direction"):
        serenity.Graph.from_networkx(graph.to_undirected())
    with pytest.raises(ValueError, match="no attribute `weight`"):
        serenity.Graph.from_networkx(graph, bytes="weight")


def test_schedule_does_what_it_is_told(diamond):
    assert serenity.schedule(diamond, algorithm="file").peak == 14000
    assert serenity.schedule(diamond).peak == 11000
    kahn = serenity.schedule("zoo:swiftnet-a", algorithm="kahn")
    assert kahn.peak == 301056 and kahn.proof == "gap"


def test_place_alone():
    chain = [(30, 0, 2), (20, 1, 3), (10, 2, 4), (40, 3, 5)]
    best = serenity.place(chain)
    assert (best.height, best.bound, best.proof) == (50, 50, "optimal")
    assert serenity.place(chain, planner="tflm").height == 60
    assert serenity.place([{"size": 8, "lower": 0, "upper": 1, "offset": 16}]).height == 24
    joined = serenity.place([(20, 0, 2), (20, 1, 3)], overlaps=[(1, 0)])
    assert joined.height == 20 and joined.offsets == [0, 0]
    assert all(offset % 16 == 0 for offset in serenity.place(chain, align=16).offsets)
    with pytest.raises(ValueError, match="never"):
        serenity.place([(8, 3, 3)])
    with pytest.raises(serenity.Error, match="buffer 1"):
        serenity.place([(8, 0, 1), (2**61, 0, 1)])


def test_divide_among_two_memories():
    chain = [(60, 0, 2), (50, 1, 4), (60, 3, 5)]
    best = serenity.divide(chain, {"fast": 100, "slow": 1000}, traffic=[(60, 0), (100, 50), (0, 60)])
    assert best.memories == ["slow", "fast", "slow"] and best.offsets[1] == 0
    assert (best.moved, best.bound, best.proof) == (120, 120, "optimal")
    assert best.used == {"fast": 50, "slow": 60}
    assert serenity.divide(chain, {"fast": "1KB", "slow": 0}).moved == 0
    with pytest.raises(serenity.BudgetError, match="`fast` \\(60 bytes\\) and `slow`"):
        serenity.divide(chain, {"fast": 60, "slow": 40})
    for wrong in ({"fast": 100}, {"a": 1, "b": 2, "c": 3}):
        with pytest.raises(ValueError, match="memories are two"):
            serenity.divide(chain, wrong)
    with pytest.raises(ValueError, match="fixed offsets"):
        serenity.divide([(8, 0, 1, 0)], {"fast": 8, "slow": 8})
    with pytest.raises(ValueError, match="2 figures of traffic for 3 buffers"):
        serenity.divide(chain, {"fast": 100, "slow": 1000}, traffic=[(1, 1), (2, 2)])


def test_place_a_model_in_an_order(diamond):
    own = serenity.place(diamond)
    best = serenity.place(diamond, order=serenity.optimize(diamond).order)
    assert (own.height, best.height) == (14000, 11000)
    assert sorted(best.by_tensor) == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="cannot run in this order"):
        serenity.place(diamond, order=[3, 2, 1, 0])


def test_traffic():
    small, large = serenity.traffic("zoo:swiftnet-a", ["64KB", 256_000])
    assert small.on_chip == 64000 and large.after <= large.before and small.after >= large.after
    assert small.bound_of_all_orders <= small.bound <= small.after


def test_budgets(diamond):
    assert serenity.optimize(diamond).fits is None
    assert serenity.optimize(diamond, budget="11KB").fits is True
    tight = serenity.optimize(diamond, budget=10_000)
    assert (tight.fits, tight.missing) == (False, 1000) and "1,000 bytes are missing" in tight.summary()


def test_what_people_see(diamond, model):
    best = serenity.optimize(diamond)
    assert "1.27x less" in best.summary() and "proved optimal" in best.summary()
    page = best._repr_html_()
    assert "<svg" in page and "</svg>" in page and "proved optimal" in page
    assert "arena after" in serenity.optimize(model).summary()
    assert "11,000 bytes (was 14,000), optimal" in repr(best)


def test_what_does_not_count_everything_tells_no_gain(diamond, monkeypatch):
    best = serenity.optimize(diamond)
    monkeypatch.setitem(best.plan, "unknown", [{"kind": "size", "name": "t", "reason": "nobody knows"}])
    assert "x less" not in best.summary() and "11,000 bytes at least" in best.summary()
    assert "was" not in repr(best) and "11,000 bytes at least" in repr(best)
    monkeypatch.setitem(best.plan, "after", {**best.plan["after"], "peak": 0})
    assert "unknown" in repr(best)


def test_pandas(diamond):
    pytest.importorskip("pandas")
    table = serenity.optimize(diamond).to_pandas()
    assert list(table.columns) == ["op", "name", "type", "during", "after"] and table["during"].max() == 11000


def test_everything_pickles(diamond, model):
    for source in (diamond, serenity.load(model), serenity.load("zoo:darts-cell")):
        graph = pickle.loads(pickle.dumps(source))
        assert (graph.name, len(graph), graph.runtime) == (source.name, len(source), source.runtime)
        best = serenity.optimize(source)
        copy = pickle.loads(pickle.dumps(best))
        assert copy == best and copy.plan == best.plan and copy.to_bytes() == best.to_bytes()
        assert copy.summary() == best.summary() and copy.chart() == best.chart() and copy.steps == best.steps
        assert (copy.peak, copy.bound, copy.proof) == (best.peak, best.bound, best.proof)
    assert serenity.optimize(diamond) != serenity.optimize(diamond, budget=1)


def test_options_reach_the_library(model, diamond):
    assert serenity.optimize(model, kernels="reference").arena < serenity.optimize(model).arena
    assert serenity.optimize(model, rewrite="none").plan["rewrites"] == []
    assert serenity.optimize(model, loops=True, rewrite="none").plan["loops"]["windows"]
    assert serenity.optimize(model, runtime="litert").runtime == "litert"
    assert serenity.optimize(diamond, reorder=False).order == [0, 1, 2, 3]
    assert serenity.optimize(diamond, time_limit=None, effort=2, threads=2, memory_limit="1GiB").peak == 11000
