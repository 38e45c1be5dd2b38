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


def text(value: Any, name: str) -> Any:
    """A choice by its name, or ``None``."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be text, not {type(value).__name__}")
    return value


def flag(value: Any, name: str) -> bool:
    """Yes or no."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {type(value).__name__}")
    return value


def whole(value: Any, name: str, least: int = 1) -> int:
    """A whole number that is not too small."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, not {type(value).__name__}")
    number = value.__index__()
    if number < least:
        raise ValueError(f"{name} must be at least {least}, not {number}")
    return number


def number(value: Any, name: str) -> Optional[float]:
    """A number, or ``None``."""
    if value is not None and not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    return None if value is None else float(value)


def several(sources: Any) -> Any:
    """What many models come from: not a single one, which may be iterable too."""
    if isinstance(sources, (str, bytes)) or hasattr(sources, "__fspath__") or not hasattr(sources, "__iter__"):
        raise TypeError(f"expected several models, as in a list, not {type(sources).__name__}")
    return sources


def callback(value: Any) -> Any:
    """A callback, or ``None``."""
    if value is not None and not callable(value):
        raise TypeError(f"progress must be a function, not {type(value).__name__}")
    return value


def reading(runtime: Optional[str], shapes: Optional[Mapping[str, Shape]], fold_constants: bool) -> dict[str, Any]:
    """How to read a model."""
    text(runtime, "runtime")
    listed = []
    if shapes is not None and not isinstance(shapes, Mapping):
        raise TypeError(f"shapes must be a mapping of names to shapes, not {type(shapes).__name__}")
    for name, shape in (shapes or {}).items():
        if isinstance(shape, str) or not hasattr(shape, "__len__"):
            raise TypeError(f"the shape of `{name}` must be such as (1, 3, 224, 224), not {shape!r}")
        dims: Any = shape
        dtype: Any = None
        if len(shape) == 2 and isinstance(shape[1], str):
            dims, dtype = shape
        listed.append((name, [int(dim) for dim in dims], dtype))
    return {"runtime": runtime, "shapes": listed, "fold_constants": flag(fold_constants, "fold_constants")}


def target(
    runtime: Optional[str],
    kernels: Optional[str] = None,
    ort_order: Optional[str] = None,
    ort_session: Optional[str] = None,
) -> dict[str, Any]:
    """Which runtime will run the model."""
    if ort_session not in (None, "fast", "plain"):
        raise ValueError(f"unknown session `{ort_session}`; choose fast or plain")
    chosen = {"runtime": runtime, "kernels": kernels, "ort_order": ort_order, "ort_session": ort_session}
    return {name: text(value, name) for name, value in chosen.items()}


def patience(time_limit: Optional[float], memory_limit: Size, effort: int) -> dict[str, Any]:
    """How long to search."""
    return {
        "time_limit": number(time_limit, "time_limit"),
        "memory_limit": size(memory_limit, "memory_limit"),
        "effort": whole(effort, "effort"),
    }


def python() -> str:
    """The interpreter whose runtimes may be asked: this one, unless the environment names another."""
    return os.environ.get("SERENITY_PYTHON") or sys.executable
