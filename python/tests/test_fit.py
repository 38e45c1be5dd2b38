"""All ways to run a model in the memory of a device, and its C code."""

import html
import inspect
import pickle

import pytest
from conftest import exported, shared
from test_command import answer, command

import serenity


@pytest.fixture(scope="session")
def int8(tmp_path_factory):
    """A small int8 model, which C code can be made of."""
    return exported(tmp_path_factory.mktemp("int8") / "net.tflite", "--int8")


@pytest.fixture(scope="session")
def fit(int8):
    return serenity.fit(int8, "56KiB")


def test_fit_is_what_the_command_says(int8, fit, monkeypatch):
    monkeypatch.setenv("COLUMNS", "1000")  # readline, which pytest loads, sets its own.
    theirs = answer("fit", int8, "--budget", "56KiB")
    assert [way._asdict() for way in fit.ways] == theirs["ways"]
    assert (fit.budget, fit.fits, fit.runtime) == (56 * 1024, theirs["fits"], theirs["runtime"])
    assert fit.chosen == fit.ways[theirs["chosen"]] and fit.chosen.fits and fit.advice == []
    assert fit.summary() == repr(fit) == command("fit", int8, "--budget", "56KiB").stdout.rstrip()
    assert html.escape(fit.summary()) in fit._repr_html_()


def test_a_fit_is_saved_as_the_command_does(int8, fit, tmp_path):
    fit.save(tmp_path / "model.tflite")
    assert command("fit", int8, "--budget", "56KiB", "-o", tmp_path / "other.tflite").returncode == 0
    assert (tmp_path / "model.tflite").read_bytes() == (tmp_path / "other.tflite").read_bytes()
    copy = pickle.loads(pickle.dumps(fit))
    assert copy.ways == fit.ways and copy.summary() == fit.summary()
    copy.save(f"{tmp_path}/code/")
    command("fit", int8, "--budget", "56KiB", "-o", f"{tmp_path}/other/")
    names = sorted(path.name for path in (tmp_path / "other").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "code").iterdir()) and "model.c" in names
    for name in names:
        assert (tmp_path / "code" / name).read_text() == (tmp_path / "other" / name).read_text()
    fit.save(tmp_path / "graph.json")
    assert len(serenity.load(tmp_path / "graph.json")) > 0
    with pytest.raises(ValueError, match="in the format it came in"):
        fit.save(tmp_path / "model.onnx")


def test_changes_can_be_forbidden(int8, tmp_path):
    only_c = serenity.fit(int8, "1MiB", forbid=["plan"])
    assert [way.name for way in only_c.ways] == ["as it came"] and only_c.chosen.command is None
    only_c.save(tmp_path / "same.tflite")
    assert (tmp_path / "same.tflite").read_bytes() == int8.read_bytes()
    with pytest.raises(ValueError, match="fits 1,048,576 bytes only as a model: end the path in .tflite"):
        only_c.save(f"{tmp_path}/code/")
    assert not (tmp_path / "code").exists()
    named = serenity.fit(int8, "56KiB", allow="plan,rewrites", kernels="cmsis-nn")
    assert {change for way in named.ways for change in way.changes} == {"plan", "rewrites"}
    assert all("--kernels cmsis-nn" in way.command for way in named.ways if way.command)
    with pytest.raises(ValueError, match="unknown change `speed`"):
        serenity.fit(int8, "56KiB", allow=["speed"])
    with pytest.raises(TypeError, match="each of forbid must be text"):
        serenity.fit(int8, "56KiB", forbid=[7])


def test_what_fits_in_no_way_says_why(diamond, tmp_path):
    tight = serenity.fit(diamond, 10_000)
    assert not tight.fits and tight.chosen is None and tight.advice
    assert "does not fit 10,000 bytes in any way" in tight.summary()
    with pytest.raises(serenity.BudgetError, match="does not fit 10,000 bytes in any way") as caught:
        tight.save(tmp_path / "x.json")
    assert (caught.value.needed, caught.value.missing, caught.value.kind) == (11_000, 1_000, "room")
    assert serenity.fit(diamond, 11_000).chosen.name == "order and plan"
    assert list(tmp_path.iterdir()) == []


def test_progress_counts_ways(int8):
    seen = []
    serenity.fit(int8, "1MiB", allow="plan,rewrites", progress=lambda ways, seconds: seen.append(ways))
    assert seen == sorted(seen) and all(1 <= ways <= 3 for ways in seen)


def test_the_frontier_as_a_table(fit):
    pytest.importorskip("pandas")
    table = fit.to_pandas()
    assert list(table.columns) == list(serenity.Way._fields) and len(table) == len(fit.ways)
    assert table[table["fits"] == True]["need"].min() <= fit.budget  # noqa: E712


def test_c_code_is_that_of_the_command(int8, tmp_path):
    code = serenity.emit_c(int8, name="net", budget="56KiB", loops=True, kernels="cmsis-nn")
    theirs = answer(
        "emit",
        "c",
        int8,
        "--name",
        "net",
        "--budget",
        "56KiB",
        "--loops",
        "--kernels",
        "cmsis-nn",
        "-o",
        tmp_path / "c",
    )
    for field in ("prefix", "ram", "arena", "state", "flash", "steps", "fits"):
        assert getattr(code, field) == theirs[field], field
    assert code.files == {path.name: path.read_text() for path in (tmp_path / "c").iterdir()}
    code.save(tmp_path / "mine")
    assert (tmp_path / "mine" / "model.c").read_text() == code.files["model.c"] and "net_invoke" in code.files[
        "model.h"
    ]
    assert code.ram == code.arena + code.state and "bytes of RAM" in repr(code) and len(repr(code)) < 300
    assert pickle.loads(pickle.dumps(code)) == code and serenity.emit_c(int8).fits is None


def test_what_c_is_not_made_of(int8, diamond):
    with pytest.raises(ValueError, match="cannot write C from `example`: only a whole .tflite"):
        serenity.emit_c(diamond)
    with pytest.raises(ValueError, match='kernels="reference": emitted C has kernels of its own') as caught:
        serenity.emit_c(int8, kernels="reference")
    assert 'kernels="emitted", cmsis-nn' in caught.value.help


def test_options_have_names():
    one, many = (inspect.signature(function).parameters for function in (serenity.optimize, serenity.optimize_many))
    for name in one.keys() - {"source", "progress", "hop"}:  # Windows over time are for one model.
        assert many[name].default == one[name].default and many[name].kind is inspect.Parameter.KEYWORD_ONLY, name
    with pytest.raises(TypeError, match=r"emit_c\(\) got an unexpected keyword argument 'ort_order'"):
        serenity.emit_c("model.tflite", ort_order="default")
    assert "memory_limit" in inspect.signature(serenity.emit_c).parameters
    ray = pytest.importorskip("serenity.ray", reason="could not import ray")
    on_ray = inspect.signature(ray.optimize_many).parameters
    assert all(name in on_ray for name in many.keys() - {"workers"})


def test_windows_over_time(tmp_path_factory):
    net = tmp_path_factory.mktemp("time") / "net.tflite"
    assert command("zoo", "export", "mobilenet?resolution=64", "--int8", "-o", net).returncode == 0
    fit = serenity.fit(net, "64KB", allow=["plan", "rewrites", "c", "stream", "loops"], hop=16)
    slid = fit.ways[-1]
    assert slid.name == "C code, windows slid, loops" and slid.extra_macs < 0
    code = serenity.emit_c(net, stream="time", hop=16, loops=True, max_extra_macs=0.5, budget="64KB")
    assert (code.ram, code.instructions) == (slid.need, slid.instructions)
    assert code.pushes["hop"]["rows"] == 16 and code.pushes["hop"]["macs"] < code.pushes["hop"]["window_macs"]
    with pytest.raises(ValueError, match="windows over time need a whole .tflite model"):
        serenity.fit("zoo:swiftnet-a", "64KB", hop=1)
    with pytest.raises(ValueError, match="hop must be at least 1"):
        serenity.fit(net, "64KB", hop=0)
    with pytest.raises(ValueError, match="say stream='time' as well"):
        serenity.emit_c(net, stream="rows", hop=2)
    with pytest.raises(ValueError, match="must be 'rows', 'time' or None"):
        serenity.emit_c(net, stream="columns")


WAKE_WORD = shared() / "more-models" / "str_ww_ref_model.tflite"


@pytest.mark.skipif(not WAKE_WORD.is_file(), reason=f"SKIPPED: no collection of models: {WAKE_WORD}")
def test_windows_over_time_in_tflm(tmp_path):
    best = serenity.optimize(WAKE_WORD, kernels="reference", hop=1)
    theirs = answer("optimize", WAKE_WORD, "--kernels", "reference", "--hop", "1", "-o", tmp_path / "theirs.tflite")
    assert best.hop == theirs["hop"] and (best.hop["rows"], best.hop["macs"]) == (1, 46_040)
    assert best.to_bytes() == (tmp_path / "theirs.tflite").read_bytes()
    slid = next(
        way for way in serenity.fit(WAKE_WORD, "14KiB", kernels="reference", hop=1).ways if way.name == "windows slid"
    )
    assert slid.need == best.needs and slid.extra_macs == best.hop["macs"] - best.hop["window_macs"]
    assert serenity.optimize(WAKE_WORD).hop is None
    for refused in (best.save_plan, best.report):
        with pytest.raises(ValueError, match="no .* of its own"):
            refused(tmp_path / "file")
    with pytest.raises(ValueError, match="hop must be at least 1"):
        serenity.optimize(WAKE_WORD, hop=0)
