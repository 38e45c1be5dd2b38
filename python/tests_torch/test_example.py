"""The example runs, and the models that it makes compute the same."""

import pathlib
import runpy
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "pytorch_to_devices.py"


def test_pytorch_to_devices(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(sys, "argv", [EXAMPLE.name, str(tmp_path)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    said = capsys.readouterr().out
    print(said)
    assert "ExecuTorch: within" in said and "proved optimal" in said and (tmp_path / "model.pte").is_file()
    assert "ONNX: left out" in said or "ONNX: the same to the last bit: True" in said
