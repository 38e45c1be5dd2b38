"""What callers choose, checked and brought into the form that the compiled part takes."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Optional, TypedDict, TypeVar, Union

from . import _serenity

Size = Union[int, str]
Shape = Union[Sequence[int], tuple[Sequence[int], str]]
Function = TypeVar("Function", bound=Callable[..., Any])


class Options(TypedDict, total=False):
    """The options of :func:`optimize`, for editors and type checkers. :func:`wishes` has their defaults."""

    runtime: Optional[str]
    kernels: Optional[str]
    budget: Optional[Size]
    rewrite: Optional[str]
    loops: bool
    max_extra_macs: Optional[float]
    int8_io: bool
    reorder: bool
    plan: bool
    algorithm: Optional[str]
    threads: int
    ort_order: Optional[str]
    ort_session: Optional[str]
    time_limit: Optional[float]
    memory_limit: Size
    effort: int


def wishes(
    *,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    budget: Optional[Size] = None,
    rewrite: Optional[str] = None,
    loops: bool = False,
    max_extra_macs: Optional[float] = None,
    int8_io: bool = False,
    reorder: bool = True,
    plan: bool = True,
    algorithm: Optional[str] = None,
    threads: int = 1,
    ort_order: Optional[str] = None,
    ort_session: Optional[str] = None,
    time_limit: Optional[float] = 300.0,
    memory_limit: Size = "4GiB",
    effort: int = 1,
) -> dict[str, Any]:
    """The options of :func:`optimize`, checked."""
    return {
        "target": target(runtime, kernels, ort_order, ort_session),
        "patience": patience(time_limit, memory_limit, effort),
        "algorithm": text(algorithm, "algorithm"),
        "threads": whole(threads, "threads"),
        "budget": None if budget is None else size(budget, "budget"),
        "rewrite": text(rewrite, "rewrite"),
        "reorder": flag(reorder, "reorder"),
        "plan": flag(plan, "plan"),
        "loops": flag(loops, "loops"),
        "max_extra_macs": number(max_extra_macs, "max_extra_macs"),
        "int8_io": flag(int8_io, "int8_io"),
        "python": python(),
    }


def listed(*, without: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Lists all options by name, with their defaults, in the signature of a function that takes ``**options``; others are refused."""

    def with_options(function: Function) -> Function:
        own = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        taken = {*without, *(one.name for one in own)}
        options = [one for one in inspect.signature(wishes).parameters.values() if one.name not in taken]
        all_of_them = sorted([*own, *options], key=lambda one: one.kind)
        names = {one.name for one in all_of_them}

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            for name in given.keys() - names:
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
            return function(*args, **given)

        checked.__signature__ = inspect.signature(function).replace(parameters=all_of_them)  # type: ignore[attr-defined]
        return checked  # type: ignore[return-value]

    return with_options


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


def share(value: str, name: str) -> float:
    """A share from text such as ``"5%"``."""
    try:
        percent = float(value.strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 10_000:
        raise ValueError(f"{name} must be bytes or a percentage such as '5%', not {value!r}")
    return percent / 100


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
