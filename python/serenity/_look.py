"""Models as they are, and random orders of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

from . import _html, _options, _serenity
from ._computed import filled
from ._errors import extra
from ._load import Source, as_graph
from ._result import Step

if TYPE_CHECKING:
    import pandas


class LargestOp(NamedTuple):
    """The operator that needs the most by itself."""

    op: int
    name: str
    bytes: int


class AliveBuffer(NamedTuple):
    """A buffer in use at the peak: its first tensor, or the scratch of an operator. ``tensors`` are positions in :attr:`Graph.tensors`."""

    name: str
    bytes: int
    shape: Optional[list[int]]
    dtype: Optional[str]
    tensors: list[int]


class Inspection(NamedTuple):
    """What a model needs in its own order, in bytes, and what the best order would need.

    ``needs`` is the memory that a device must have: for TFLM the whole arena, otherwise the arena or the peak.
    ``best``, ``best_arena``, ``bound`` and ``proof`` are about the best order.
    ``details`` holds all that ``serenity inspect --json`` prints.
    """

    name: str
    runtime: str
    ops: int
    peak: int
    arena: Optional[int]
    needs: int
    max_op: Optional[LargestOp]
    best: int
    best_arena: Optional[int]
    bound: int
    proof: str
    fits: Optional[bool]
    missing: Optional[int]
    peak_step: int
    steps: list[Step]
    alive_at_peak: list[AliveBuffer]
    details: dict[str, Any]

    def to_pandas(self) -> pandas.DataFrame:
        """One row per operator, in the order in which they run."""
        with extra("pandas"):
            import pandas

        return pandas.DataFrame(self.steps, columns=list(Step._fields))

    def __repr__(self) -> str:
        """One line."""
        arena = "" if self.arena is None else f", arena {self.arena:,}"
        return f"<serenity.Inspection {self.name!r}: {self.ops} ops, needs {self.needs:,} bytes (peak {self.peak:,}{arena})>"

    def _repr_html_(self) -> str:
        alive = _html.table(
            ["alive at the peak", "bytes"], [(buffer.name, buffer.bytes) for buffer in self.alive_at_peak]
        )
        return _html.card(_html.pre(repr(self)[1:-1]), alive)


class Sample(NamedTuple):
    """How the peaks of random orders are distributed.

    ``quantiles`` gives for a share of the orders (0.5: half of them) the least peak in bytes that they do not exceed.
    ``distribution`` lists pairs of a peak and the number of orders that have it. ``best`` is the least peak that a search found;
    ``share_optimal`` is the share of orders that reach it, or ``None`` if it is not proved optimal.
    ``share_within_budget`` is ``None`` without a budget. ``stopped`` says why there are fewer orders than you asked for.
    """

    name: str
    runtime: str
    count: int
    exact: bool
    stopped: Optional[str]
    seed: Optional[int]
    quantiles: dict[float, int]
    distribution: list[tuple[int, int]]
    best: int
    proof: str
    share_optimal: Optional[float]
    budget: Optional[int]
    share_within_budget: Optional[float]


def inspect(
    source: Source,
    *,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    budget: Optional[_options.Size] = None,
    time_limit: Optional[float] = 10.0,
    memory_limit: _options.Size = "4GiB",
    shapes: Optional[Mapping[str, _options.Shape]] = None,
) -> Inspection:
    """Look at a model without changing it, as the command ``serenity inspect`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param runtime: as for :func:`optimize`
    :param kernels: as for :func:`optimize`
    :param budget: bytes, or text such as ``"250KB"``; the answer says whether the model fits as it is
    :param time_limit: seconds for the search for the best order
    :param memory_limit: bytes for the tables of that search
    :param shapes: as for :func:`load`
    """
    graph, target = as_graph(source, runtime, shapes), _options.target(runtime, kernels)
    limit = None if budget is None else _options.size(budget, "budget")
    patience = _options.patience(time_limit, memory_limit, 1)
    text, needs = _serenity.inspect(graph._model, target, limit, patience)
    details = json.loads(text)
    return filled(
        Inspection,
        details,
        name=graph.name,
        needs=needs,
        max_op=None if details["max_op"] is None else filled(LargestOp, details["max_op"]),
        steps=[filled(Step, step) for step in details["steps"]],
        alive_at_peak=[filled(AliveBuffer, buffer) for buffer in details["alive_at_peak"]],
        details=details,
    )


def diff(
    old: Source,
    new: Source,
    *,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    budget: Optional[_options.Size] = None,
    max_growth: Optional[_options.Size] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
) -> dict[str, Any]:
    """What changed between two models, with the fields of ``serenity diff --json``.

    ``passed`` says whether the second model keeps both limits.

    :param old: the first model, a path, bytes or a :class:`Graph`, as for :func:`load`
    :param new: the second model
    :param runtime: as for :func:`optimize`
    :param kernels: as for :func:`optimize`
    :param budget: bytes, or text such as ``"250KB"``, that the second model may need
    :param max_growth: bytes, or text such as ``"2KiB"`` or ``"5%"``, that the second model may need more than the first
    :param shapes: as for :func:`load`
    """
    graphs = [as_graph(source, runtime, shapes)._model for source in (old, new)]
    limit = None if budget is None else _options.size(budget, "budget")
    growth: tuple[Optional[int], Optional[float]] = (None, None)
    if isinstance(max_growth, str) and max_growth.rstrip().endswith("%"):
        growth = (None, _options.share(max_growth, "max_growth"))
    elif max_growth is not None:
        growth = (_options.size(max_growth, "max_growth"), None)
    fields: dict[str, Any] = json.loads(_serenity.diff(*graphs, _options.target(runtime, kernels), limit, growth))
    return fields


def sample(
    source: Source,
    count: int = 10_000,
    *,
    seed: int = 1,
    exact: bool = False,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    budget: Optional[_options.Size] = None,
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
) -> Sample:
    """Draw random orders of a model and count their peaks, as the command ``serenity sample`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param count: how many orders to draw
    :param seed: another seed draws other orders; the same seed draws the same orders on every machine
    :param exact: count all orders instead of drawing some
    :param runtime: as for :func:`optimize`
    :param kernels: as for :func:`optimize`
    :param budget: bytes, or text such as ``"250KB"``; the answer says which share of the orders is within it
    :param time_limit: seconds for everything; ``None`` for no limit
    :param memory_limit: bytes for the tables of the search
    :param effort: how many times the usual work to do for the best order
    :param shapes: as for :func:`load`
    """
    drawn = None if _options.flag(exact, "exact") else _options.whole(count, "count")
    graph, target = as_graph(source, runtime, shapes), _options.target(runtime, kernels)
    limit = None if budget is None else _options.size(budget, "budget")
    patience = _options.patience(time_limit, memory_limit, effort)
    answer = _serenity.sample(graph._model, drawn, _options.whole(seed, "seed", least=0), target, limit, patience)
    fields = json.loads(answer)
    return filled(
        Sample,
        fields,
        name=graph.name,
        # Counts of 2^64 and more are text.
        count=int(fields["count"]),
        quantiles={float(share): peak for share, peak in fields["quantiles"].items()},
        distribution=[(peak, int(orders)) for peak, orders in fields["distribution"]],
    )
