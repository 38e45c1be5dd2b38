"""The examples run, and show what they say."""

import pathlib
import runpy
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def test_cells_that_fit(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "cells.svg"
    monkeypatch.setenv("MPLBACKEND", "svg")
    monkeypatch.setattr(sys, "argv", ["cells_that_fit.py", "--count", "100", "--plot", str(picture)])
    runpy.run_path(str(EXAMPLES / "cells_that_fit.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "RandWire: 100 cells, 100 proved least" in said and "searched: 100 cells, 100 proved least" in said
    assert "<svg" in picture.read_text()


def test_the_notebook(tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    texts = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert any("<svg" in str(output.get("data", "")) for output in texts)
    assert any("14000 -> 11000 optimal" in output.get("text", "") for output in texts)
