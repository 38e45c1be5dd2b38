"""What the tests with PyTorch share."""

import logging
import os
import pathlib
import sys
import warnings

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("SERENITY_SHARED") or ROOT.parent / "shared")
STUDY = SHARED / "oracles" / "executorch"

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


@pytest.fixture(scope="session")
def networks():
    """The networks that ExecuTorch's planner was studied with, by name: a function that gives a module and its input."""
    if not (STUDY / "models.py").is_file():
        pytest.skip(f"SKIPPED: no networks at {STUDY}")
    sys.path.insert(0, str(STUDY))
    import models

    return models.get


@pytest.fixture(autouse=True)
def same_weights():
    torch.manual_seed(0)
