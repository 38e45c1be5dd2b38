"""Every block of Python in docs/PYTHON.md runs, in order."""

import pathlib
import re

GUIDE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "PYTHON.md"


def test_the_guide(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    ran = 0
    for reason, block in re.findall(r"(<!-- not run: [^\n]* -->\n)?```python\n(.*?)```", GUIDE.read_text(), re.S):
        if not reason:
            exec(compile(block, str(GUIDE), "exec"), names)
            ran += 1
    assert ran >= 11
