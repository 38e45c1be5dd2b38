"""Traffic, verification, checks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _options, _serenity
from ._computed import filled
from ._errors import InputError
from ._load import Source, as_graph
from ._optimize import Progress
from ._result import Result


class Traffic(NamedTuple):
    """Bytes moved between on-chip and off-chip memory, before and after, for one on-chip size. ``bound`` holds for ``order``, ``bound_of_all_orders`` for every order."""

    on_chip: int
    before: int
    after: int
    bound: int
    bound_of_all_orders: int
    is_optimal: bool
    order: list[int]


class Verification(NamedTuple):
    """What the runtimes found: are the outputs of two models the same to the last bit, and if not, how far off are they?"""

    equal: bool
    max_abs_difference: Optional[float]
    engines: list[dict[str, Any]]
    skipped: list[dict[str, str]]


class Verdict(NamedTuple):
    """What became of the claims of a plan. ``valid``: none was refuted. ``verified``: every one was verified; ``unverified`` names the fields of the others."""

    valid: bool
    verified: bool
    unverified: list[str]
    problems: list[str]
    runtime: str
    optimal_verified: bool
    claims: list[dict[str, str]]


def traffic(
    source: Source,
    on_chip: Union[_options.Size, Iterable[_options.Size]],
    *,
    runtime: Optional[str] = None,
    grain: str = "tensor",
    objective: str = "traffic",
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
    progress: Optional[Progress] = None,
) -> list[Traffic]:
    """Off-chip traffic for each on-chip size, in the model's own order and in a better one.

    ``grain``: what moves as one, ``tensor`` or ``page``. ``objective``: what the better order is searched for by, ``traffic`` or ``peak``.
    """
    many = [on_chip] if isinstance(on_chip, str) or not isinstance(on_chip, Iterable) else list(on_chip)
    sizes = [_options.size(size, "on_chip") for size in many]
    patience = _options.patience(time_limit, memory_limit, effort)
    graph, target = as_graph(source, runtime), _options.target(runtime)
    answer = _serenity.traffic(graph._model, sizes, target, grain, objective, patience, _options.callback(progress))
    plan = json.loads(answer)
    return [
        Traffic(
            size["on_chip"],
            size["before"],
            size["after"],
            size["bound"],
            size["bound_of_all_orders"],
            size["details"]["after"]["optimal"],
            size["order"],
        )
        for size in plan["sizes"]
    ]


def verify(
    a: Union[str, os.PathLike[str]],
    b: Union[str, os.PathLike[str]],
    *,
    runs: int = 4,
    seed: int = 1,
    engine: Optional[str] = None,
    python: Optional[str] = None,
) -> Verification:
    """Do two model files compute the same? Asked of the runtimes that ``python`` (this interpreter, if nothing is said) has, on random inputs."""
    paths = os.fspath(a), os.fspath(b)
    return filled(Verification, json.loads(_serenity.verify(*paths, runs, seed, engine, python or _options.python())))


def check(
    plan: Union[Result, Mapping[str, Any], str, os.PathLike[str]],
    source: Source,
    *,
    deep: bool = False,
    time_limit: float = 60.0,
    memory_limit: _options.Size = "4GiB",
) -> Verdict:
    """Let the independent checker look at a plan: a result, what :attr:`Result.plan` holds, or the path of a plan that was saved. ``source`` is the model as it came.

    ``deep`` searches again: the checker for an order below the bound, the pipeline for better rewrites.
    """
    if isinstance(plan, Result):
        text = plan._get("plan_text")
    elif isinstance(plan, Mapping):
        text = json.dumps(dict(plan))
    elif isinstance(plan, str) or hasattr(plan, "__fspath__"):
        with open(plan, encoding="utf-8") as file:
            try:
                text = file.read()
            except UnicodeDecodeError as error:
                raise InputError(f"`{os.fspath(plan)}` is not a plan: it is not UTF-8 text", "plan") from error
    else:
        raise TypeError(f"a plan is a Result, a mapping or a path, not {type(plan).__name__}")
    limit = _options.size(memory_limit, "memory_limit")
    return filled(Verdict, json.loads(_serenity.check(text, as_graph(source)._model, deep, time_limit, limit)))
