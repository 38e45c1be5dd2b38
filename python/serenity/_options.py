"""What callers choose, checked and brought into the form that the compiled part takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union

from . import _serenity

Size = Union[int, str]
Shape = Union[Sequence[int], tuple[Sequence[int], str]]


def size(value: Size, name: str) -> int:
    """Bytes: a whole number, or text as the command takes it (``"250KB"``, ``"256KiB"``)."""
    if isinstance(value, str):
        return _serenity.parse_size(value)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be bytes as int or text such as '250KB', not {type(value).__name__}")
    number = value.__index__()
    if number < 0:
        raise ValueError(f"{name} must not be negative, and {number} is")
    return number


def callback(value: Any) -> Any:
    """A callback, or ``None``."""
    if value is not None and not callable(value):
        raise TypeError(f"progress must be a function, not {type(value).__name__}")
    return value


def reading(runtime: Optional[str], shapes: Optional[Mapping[str, Shape]], fold_constants: bool) -> dict[str, Any]:
    """How to read a model."""
    listed = []
    for name, shape in (shapes or {}).items():
        dims: Any = shape
        dtype: Any = None
        if len(shape) == 2 and isinstance(shape[1], str):
            dims, dtype = shape
        listed.append((name, [int(dim) for dim in dims], dtype))
    return {"runtime": runtime, "shapes": listed, "fold_constants": fold_constants}


def target(
    runtime: Optional[str],
    kernels: Optional[str] = None,
    ort_order: Optional[str] = None,
    ort_session: Optional[str] = None,
) -> dict[str, Any]:
    """Which runtime will run the model."""
    if ort_session not in (None, "fast", "plain"):
        raise ValueError(f"unknown session `{ort_session}`; choose fast or plain")
    return {"runtime": runtime, "kernels": kernels, "ort_order": ort_order, "ort_session": ort_session}


def patience(time_limit: Optional[float], memory_limit: Size, effort: int) -> dict[str, Any]:
    """How long to search."""
    if effort < 1:
        raise ValueError(f"effort is how many times the usual work to do, at least 1, not {effort}")
    return {"time_limit": time_limit, "memory_limit": size(memory_limit, "memory_limit"), "effort": effort}


def python() -> str:
    """The interpreter whose runtimes may be asked: this one, unless the environment names another."""
    return os.environ.get("SERENITY_PYTHON") or sys.executable
