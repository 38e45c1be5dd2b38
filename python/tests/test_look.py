"""Models as they are, random orders, sweeps, notebooks, and files with loops."""

import re

import pytest
from conftest import random_graph
from test_command import answer

import serenity


def test_inspect_is_what_the_command_says(model):
    for source, options, flags in [
        (model, {}, []),
        (model, {"kernels": "cmsis-nn", "budget": "100KB"}, ["--kernels", "cmsis-nn", "--budget", "100KB"]),
        ("zoo:darts-cell", {}, []),
    ]:
        ours, theirs = serenity.inspect(source, **options), answer("inspect", source, *flags)
        assert {"schema": theirs.pop("schema"), "input": theirs.pop("input")}["input"] == str(source)
        assert ours.details == theirs
        for field in ("peak", "arena", "best", "bound", "proof", "fits", "missing", "peak_step", "ops"):
            assert getattr(ours, field) == theirs[field], field
        assert [step._asdict() for step in ours.steps] == theirs["steps"]
        assert [buffer._asdict() for buffer in ours.alive_at_peak] == theirs["alive_at_peak"]
        assert ours.max_op._asdict() == theirs["max_op"]
        assert ours.needs == (theirs["total"]["arm32"] if theirs["total"] else theirs["peak"])
    assert "needs" in repr(ours) and len(repr(ours)) < 200
    assert ours.peak == serenity.load("zoo:darts-cell").peak()


def test_diff_is_what_the_command_says(model):
    pairs = [(model, model), ("zoo:swiftnet-b", "zoo:swiftnet-a")]
    limits = [{}, {"budget": "100KB", "max_growth": "5%"}, {"max_growth": 1000}]
    for old, new in pairs:
        for options in limits:
            flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
            theirs = answer("diff", old, new, *flags)
            assert (theirs.pop("schema"), theirs.pop("input")) == ("serenity.diff/1", str(old))
            assert theirs.pop("other") == str(new)
            assert serenity.diff(old, new, **options) == theirs
    assert not serenity.diff(*pairs[1], max_growth="150%")["passed"]
    with pytest.raises(ValueError, match="max_growth must be"):
        serenity.diff(model, model, max_growth="much%")
    with pytest.raises(serenity.InputError, match="is for memory model"):
        serenity.diff(model, "zoo:swiftnet-a")


def test_sample_is_what_the_command_says():
    ours = serenity.sample("zoo:darts-cell", 300, seed=7, budget="950KB")
    theirs = answer("sample", "zoo:darts-cell", "--count", 300, "--seed", 7, "--budget", "950KB")
    for field in ("count", "exact", "seed", "best", "proof", "share_optimal", "budget", "share_within_budget"):
        assert getattr(ours, field) == theirs[field], field
    assert ours.quantiles == {float(share): peak for share, peak in theirs["quantiles"].items()}
    assert sum(orders for _, orders in ours.distribution) == ours.count == 300
    every = serenity.sample("zoo:darts-cell", exact=True)
    assert every.exact and every.seed is None and every.count == 48_720_960 and every.share_within_budget is None
    assert abs(every.share_optimal - ours.share_optimal) < 0.1 and every.quantiles[0.0] == every.best
    with pytest.raises(ValueError, match="count must be at least 1"):
        serenity.sample("zoo:darts-cell", 0)


def test_an_oracle_tells_what_a_search_finds():
    oracle = serenity.Oracle(runtime="plain")
    for seed in (1, 2, 1, 3):
        graph = random_graph(seed)
        found = serenity.schedule(graph, runtime="plain")
        told = oracle.peak(graph)
        assert told == (found.peak, found.bound, True)
    with pytest.raises(serenity.InputError, match="unknown memory model `fast`"):
        serenity.Oracle(runtime="fast").peak(graph)


def test_a_sweep_as_a_table(diamond):
    pytest.importorskip("pandas")
    results = serenity.optimize_many([diamond, "no/such.json", random_graph(3), b"nonsense"], budget="12KB")
    table = serenity.to_pandas(results)
    assert list(table["name"]) == ["example", "no/such.json", "random3", "bytes"]
    assert list(table.columns) == ["name", "ops", "before", "after", "bound", "proof", "fits", "seconds", "error"]
    row = table.iloc[0]
    assert (row["ops"], row["before"], row["after"], row["bound"], row["proof"]) == (4, 14000, 11000, 11000, "optimal")
    assert row["fits"] and row["seconds"] > 0 and "cannot read" in table.iloc[1]["error"]
    assert len(serenity.inspect(diamond).to_pandas()) == 4 and len(serenity.to_pandas([])) == 0


def test_notebooks_do_not_overflow(diamond, model):
    large = random_graph(1, ops=300)
    for shown in (diamond, large, serenity.load(model), serenity.optimize(diamond), serenity.inspect(diamond)):
        page = shown._repr_html_()
        assert page.startswith("<div style='max-width:100%;overflow-x:auto'>") and page.count("<tr>") < 12
        assert not re.search(r"<pre>|<pre style='(?!max-width:100%;overflow-x:auto)", page)
        assert all("max-width:100%" in tag for tag in re.findall(r"<svg [^>]*>", page))
    page = diamond._repr_html_()
    assert "example" in page and "4 ops" in page and "x (1,000 bytes)" in page and "peak     14,000 bytes" in page
    assert "and 292 more" in large._repr_html_()
    hostile = serenity.Graph.from_ops([("<script>", ["x"], 8)], inputs={"x": 8})
    assert "<script>" not in hostile._repr_html_() and "&lt;script&gt;" in hostile._repr_html_()


def test_files_with_loops_are_counted_as_they_run(model, tmp_path):
    best = serenity.optimize(model, loops=True, rewrite="none")
    assert best.plan["loops"]["windows"] and best.peak == max(step.during for step in best.steps)
    assert best.bound == best.plan["bound"] and 0 < best.bound <= best.peak <= best.arena
    best.save(tmp_path / "looped.tflite")
    looped = serenity.load(tmp_path / "looped.tflite")
    own = list(range(len(looped)))
    assert looped.peak() == looped.peak(own) == serenity.inspect(looped).peak == best.peak
    # Of the chart, too: what was before is what the file says now.
    again = serenity.optimize(looped, rewrite="none")
    assert again.before.peak == best.peak == max(again._get("before"))
    assert again.bound is not None and again.bound <= again.after.needs


def test_no_bound_is_none(model, monkeypatch):
    best = serenity.optimize(model, loops=True, rewrite="none")
    best._found, best._state = None, {**best.__getstate__()["_state"]}
    monkeypatch.setitem(best.plan, "bound", 0)
    assert best.bound is None and "bound" not in best.summary()
