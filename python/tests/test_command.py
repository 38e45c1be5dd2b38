"""The command in the wheel, and that it says what the functions say."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from conftest import shared

import serenity

MODELS = shared() / "models"
# A few of each kind in every run, all of them with SERENITY_SLOW=1.
MOST = None if os.environ.get("SERENITY_SLOW") else 3
LARGEST = 100 << 20 if os.environ.get("SERENITY_SLOW") else 400_000


def command(*args: str) -> subprocess.CompletedProcess:
    script = pathlib.Path(sys.executable).parent / "serenity"
    start = [str(script)] if script.exists() else [sys.executable, "-m", "serenity"]
    return subprocess.run([*start, *map(str, args)], capture_output=True, text=True)


def answer(*args: str) -> dict:
    return json.loads(command(*args, "--json").stdout)


def told(*args: str) -> dict:
    return answer("optimize", *args)


def same(ours: serenity.Result, theirs: dict) -> None:
    fields = [key for key in ours.plan if key in theirs and key not in ("seconds", "states", "pieces")]
    # All that the command tells, but for what it has read and written.
    assert theirs.keys() - ours.plan.keys() <= {"schema", "input", "output", "report", "pictures", "code"}
    for key in fields:
        assert ours.plan[key] == theirs[key], key


def test_the_command_is_there():
    assert command("--version").stdout.startswith("serenity 0.")
    assert command("optimize", "no/such.tflite").returncode == 2
    assert "error: cannot read `no/such.tflite`" in command("optimize", "no/such.tflite").stderr
    assert command("optimize", "zoo:swiftnet", "--budget", "1KB").returncode == 1


def test_built_in_networks_as_the_command():
    for network in ("zoo:swiftnet-a", "zoo:darts-cell"):
        same(serenity.optimize(network, budget="200KB"), told(network, "--budget", "200KB"))


def models() -> list:
    found = sorted(
        path
        for path in MODELS.glob("**/*")
        if path.suffix in (".tflite", ".onnx", ".json") and path.stat().st_size < LARGEST
    )
    chosen = []
    for suffix in (".tflite", ".onnx", ".json"):
        chosen += [path for path in found if path.suffix == suffix][:MOST]
    return chosen


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"SKIPPED: no collection of models at {MODELS}")
@pytest.mark.parametrize("path", models(), ids=lambda path: path.name)
def test_models_as_the_command(path: pathlib.Path):
    # Of other models the command takes no session.
    is_onnx = path.suffix == ".onnx"
    theirs = told(path, *(["--ort-session", "plain"] if is_onnx else []))
    session = "plain" if is_onnx else None
    if "error" in theirs:
        with pytest.raises(serenity.Error) as caught:
            serenity.optimize(path, ort_session=session)
        assert caught.value.message == theirs["error"]["message"] and caught.value.kind == theirs["error"]["kind"]
    else:
        same(serenity.optimize(path, ort_session=session), theirs)
