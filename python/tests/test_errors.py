"""The exception one would expect, with the message of the command."""

import pickle

import pytest

import serenity
from serenity._errors import extra


def test_a_missing_file():
    with pytest.raises(FileNotFoundError, match="cannot read `no/such.tflite`") as caught:
        serenity.load("no/such.tflite")
    error = caught.value
    assert isinstance(error, serenity.Error) and isinstance(error, OSError)
    assert (error.kind, error.filename, error.errno) == ("read", "no/such.tflite", 2)
    assert "help: give the path" in str(error)


def test_a_directory(tmp_path):
    with pytest.raises(OSError):
        serenity.load(str(tmp_path / ".." / tmp_path.name) + "/.json")
    folder = tmp_path / "x.json"
    folder.mkdir()
    with pytest.raises(OSError) as caught:
        serenity.load(folder)
    assert not isinstance(caught.value, FileNotFoundError)


def test_a_damaged_file(tmp_path):
    path = tmp_path / "broken.tflite"
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="broken.tflite") as caught:
        serenity.optimize(path)
    assert isinstance(caught.value, serenity.Error) and caught.value.kind == "format"
    path = tmp_path / "broken.json"
    path.write_text('{"tensors": [{"bytes": -1}], "ops": [], "inputs": [], "outputs": []}')
    with pytest.raises(ValueError, match=r"tensors\[0\].bytes"):
        serenity.load(path)


@pytest.mark.parametrize("source", [3, None, 1.5, ["x"], object()])
def test_what_is_no_model(source):
    with pytest.raises(TypeError, match="a model is a path, bytes or a serenity.Graph"):
        serenity.optimize(source)


def test_choices_that_do_not_exist(diamond):
    with pytest.raises(ValueError, match="unknown memory model `tfml`; choose one of: plain, paper, tflm"):
        serenity.optimize(diamond, runtime="tfml")
    with pytest.raises(ValueError, match="unknown"):
        serenity.optimize(diamond, algorithm="quantum")
    with pytest.raises(ValueError, match="choose fast or plain"):
        serenity.optimize(diamond, ort_session="slow")
    with pytest.raises(TypeError):
        serenity.optimize(diamond, runtime=7)
    with pytest.raises(TypeError, match="unexpected keyword"):
        serenity.optimize(diamond, run_time="plain")
    with pytest.raises(TypeError, match="progress must be a function"):
        serenity.optimize(diamond, progress="loud")
    with pytest.raises(ValueError, match="no such network|unknown|there is no"):
        serenity.load("zoo:nothing")


@pytest.mark.parametrize("asked", [{"runtime": "ort"}, {"ort_session": "plain"}, {"ort_order": "default"}])
def test_sessions_of_what_onnx_runtime_does_not_run(model, asked):
    with pytest.raises(ValueError, match="ONNX Runtime does not run .tflite models"):
        serenity.optimize(model, **asked)


@pytest.mark.parametrize("budget, error", [("many", ValueError), (-1, ValueError), (1.5, TypeError), (True, TypeError)])
def test_sizes_that_are_none(diamond, budget, error):
    with pytest.raises(error):
        serenity.optimize(diamond, budget=budget)


def test_requests_that_make_no_sense(diamond, tmp_path):
    with pytest.raises(ValueError, match="loops is for .tflite models"):
        serenity.optimize(diamond, loops=True)
    with pytest.raises(ValueError, match="time limit"):
        serenity.optimize(diamond, time_limit=-1)
    best = serenity.optimize(diamond)
    with pytest.raises(ValueError, match="in the format it came in"):
        best.save(tmp_path / "x.tflite")
    with pytest.raises(FileNotFoundError):
        best.save(tmp_path / "nowhere" / "x.json")
    assert list(tmp_path.iterdir()) == []


def test_graphs_that_are_none():
    make = serenity.Graph.from_ops
    with pytest.raises(ValueError, match="tensor `y`, which no op writes"):
        make([("a", ["y"], 10)])
    with pytest.raises(ValueError, match="two producers"):
        make([("a", [], 10), ("a", [], 10)])
    with pytest.raises(ValueError, match="cycle"):
        make([("a", ["b"], 10), ("b", ["a"], 10)], outputs=["a"])
    with pytest.raises(ValueError, match="no operators"):
        make([])
    with pytest.raises(TypeError, match="an op is"):
        make([7])
    with pytest.raises(TypeError, match="unexpected keyword"):
        make([{"name": "a", "reads": []}])
    with pytest.raises(TypeError):
        serenity.Graph("model.tflite")


def test_exceptions_pickle():
    with pytest.raises(serenity.Error) as caught:
        serenity.load("no/such.tflite")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (
        type(copy) is serenity.MissingFileError
        and str(copy) == str(caught.value)
        and copy.filename == caught.value.filename
    )


def test_plans_that_are_none(diamond, tmp_path):
    with pytest.raises(ValueError, match="is not a plan"):
        serenity.check({"order": []}, diamond)
    with pytest.raises(FileNotFoundError):
        serenity.check(tmp_path / "none.json", diamond)
    with pytest.raises(TypeError, match="a plan is"):
        serenity.check(7, diamond)


@pytest.mark.parametrize(
    "wrong, says",
    [
        ({"rewrite": False}, "rewrite must be text, not bool"),
        ({"kernels": 7}, "kernels must be text, not int"),
        ({"loops": "yes"}, "loops must be True or False, not str"),
        ({"threads": "two"}, "threads must be a whole number, not str"),
        ({"time_limit": "long"}, "time_limit must be a number, not str"),
        ({"shapes": [1, 3]}, "shapes must be a mapping"),
        ({"speed": 1}, "optimize.. got an unexpected keyword"),
    ],
)
def test_options_of_the_wrong_type(wrong, says):
    with pytest.raises(TypeError, match=says):
        serenity.optimize("zoo:swiftnet-a", **wrong)


def test_one_where_many_are_wanted(diamond):
    for one in ("zoo:swiftnet-a", diamond, b"{}", 7):
        with pytest.raises(TypeError, match="expected several models"):
            serenity.optimize_many(one)


def test_buffers_that_are_none():
    with pytest.raises(TypeError, match="a buffer is .size, lower, upper."):
        serenity.place(["a"])
    with pytest.raises(ValueError, match="align must be at least 1, not 0"):
        serenity.place([(1, 0, 1)], align=0)
    with pytest.raises(ValueError, match="buffer 0 is no multiple of 16"):
        serenity.place([(4, 0, 1, 1)], align=16)


def test_a_missing_file_to_verify():
    with pytest.raises(FileNotFoundError, match="cannot read `no/such.tflite`"):
        serenity.verify("no/such.tflite", "no/other.tflite")


def test_what_is_not_installed_is_named():
    with pytest.raises(ModuleNotFoundError, match=r"no_such_package.*pip install serenity-ml\[pandas\]") as caught:
        with extra("pandas"):
            import no_such_package  # noqa: F401
    assert caught.value.name == "no_such_package"
