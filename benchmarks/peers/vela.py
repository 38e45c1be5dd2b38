#!/usr/bin/env python3
"""Vela, Arm's compiler for the Ethos-U: the SRAM that it gives a model when told to save memory, and the order in which it runs it.

A line a model: `sram` (bytes), and `order` (names of tensors as Vela lists what writes them, after its own optimisation); or `refused`, also where a part of the model would be left to the processor, which
Vela does not count."""

import csv
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from beside import judging

TARGET = ["--accelerator-config", "ethos-u55-128", "--system-config", "Ethos_U55_High_End_Embedded", "--memory-mode", "Shared_Sram"]


def judge(path, _options, _log):
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "ethosu.vela", path, *TARGET, "--optimise", "Size", "--verbose-graph", "--show-cpu-operations", "--output-dir", folder]
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            raise judging.Refused((run.stdout.strip() or "no word of it").splitlines()[-1])
        left = re.search(r"^CPU operators = (\d+)", run.stdout, re.MULTILINE)
        if left is None or int(left[1]) > 0:
            raise judging.Refused(f"leaves {left[1] if left else 'all'} operators to the processor")
        [summary] = Path(folder).glob("*_summary_*.csv")
        with open(summary, newline="") as file:
            [row] = csv.DictReader(file)
    # In KiB, and whole bytes of them.
    return {"sram": round(float(row["sram_memory_used"]) * 1024), "order": listed(run.stdout)}


def listed(text):
    """The last list of operators, each by what it writes."""
    last = text.rsplit("[ After Graph Optimization ]", 1)[1]
    operators = re.match(r"\s*((?:\d+ +\S+ +[^\n]*\n)+)", last)
    if operators is None:
        raise judging.Refused("this version of Vela lists its operators in a way that is not known here")
    return [re.match(r"\d+ +\S+ +(.*\S)", line)[1] for line in operators[1].splitlines()]


if __name__ == "__main__":
    judging.main(__doc__, judge)
