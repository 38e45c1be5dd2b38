"""What the tests share."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import threading

import pytest

import serenity

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shared() -> pathlib.Path:
    """The collection of models, which is not part of the repository."""
    return pathlib.Path(os.environ.get("SERENITY_SHARED") or ROOT.parent / "shared")


def need_of(reason: str) -> str:
    """What a test was left out for the lack of, as `SERENITY_REQUIRE` calls it."""
    if "could not import" in reason or "is not installed" in reason:
        return "packages"
    return "collection" if "collection" in reason else "system"


def judged(report):
    """A skipped test fails if `SERENITY_REQUIRE` names what it needs, and else is added to the file of `SERENITY_SKIPS`."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return report
    said = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    reason = " ".join(str(said).removeprefix("Skipped: ").removeprefix("SKIPPED: ").split())
    need = need_of(reason)
    if need in os.environ.get("SERENITY_REQUIRE", "").split(","):
        report.outcome = "failed"
        report.longrepr = f"SERENITY_REQUIRE names `{need}`, but: {reason}"
    elif skips := os.environ.get("SERENITY_SKIPS"):
        with open(skips, "a") as file:
            file.write(f"{need}\t{reason}\n")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return judged((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return judged((yield))


def random_graph(seed: int, ops: int = 40, reach: int = 12) -> serenity.Graph:
    """Ops that read one to three of those before them, of random sizes."""
    draw = random.Random(seed)
    rows = []
    for i in range(ops):
        reads = sorted({f"op{draw.randrange(max(0, i - reach), i)}" for _ in range(draw.randint(1, 3))}) if i else ["x"]
        rows.append((f"op{i}", reads, draw.randint(1, 1000)))
    return serenity.Graph.from_ops(rows, inputs={"x": 100}, name=f"random{seed}")


@pytest.fixture
def diamond() -> serenity.Graph:
    """The example of docs/LIBRARY.md: the order of the file needs 14,000 bytes, the best 11,000."""
    return serenity.Graph.from_ops(
        [
            ("side", ["x"], 4000, "CONV_2D"),
            ("big", ["x"], 9000, "CONV_2D"),
            ("small", ["big"], 1000, "CONV_2D"),
            ("out", ["side", "small"], 1000, "ADD"),
        ],
        inputs={"x": 1000},
        name="example",
    )


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A small .tflite model with weights."""
    return exported(tmp_path_factory.mktemp("models") / "model.tflite")


def exported(path: pathlib.Path, *options: str) -> pathlib.Path:
    """A small model as a file, written by the command: in a process of its own, which handles signals in its own way."""
    asked = ["zoo", "export", "swiftnet-c", *options, "-o", str(path)]
    subprocess.run([sys.executable, "-m", "serenity", *asked], check=True)
    return path


def interrupt_soon() -> None:
    """Presses Ctrl-C in half a second, also where whoever started the tests ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, signal.raise_signal, [signal.SIGINT]).start()
