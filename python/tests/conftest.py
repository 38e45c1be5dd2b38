"""What the tests share."""

import os
import pathlib
import random

import pytest

import serenity

ROOT = pathlib.Path(__file__).resolve().parents[2]


def shared() -> pathlib.Path:
    """The collection of models, which is not part of the repository."""
    return pathlib.Path(os.environ.get("SERENITY_SHARED") or ROOT.parent / "shared")


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
    """The example of the README: the order of the file needs 14,000 bytes, the best 11,000."""
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
    """A small .tflite model with weights, made by the command."""
    from serenity import _serenity

    path = tmp_path_factory.mktemp("models") / "model.tflite"
    assert _serenity.run_command(["serenity", "zoo", "export", "swiftnet-c", "-o", str(path)]) == 0
    return path
