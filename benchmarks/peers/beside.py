"""Peers answer as the judges of the runtimes do: a file or several in, a line of JSON for each out, a child process each, with a time limit. This finds what those share."""

import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "crates/serenity-judges/judges"))

import judging  # noqa: E402, F401


def buffers(path):
    """The rows of a table as minimalloc reads it: size, first step, last step."""
    with open(path, newline="") as file:
        return [(int(row["size"]), int(row["lower"]), int(row["upper"]) - 1) for row in csv.DictReader(file)]


def add_alignment(parser):
    parser.add_argument("--align", type=int, default=1, help="of every offset, in bytes (default 1)")
