"""The least peak of one graph after another."""

from __future__ import annotations

from typing import NamedTuple, Optional

from . import _options, _serenity
from ._load import Source, as_graph


class LeastPeak(NamedTuple):
    """The peak of the best order found in bytes, a lower bound for all orders, and whether they are the same."""

    bytes: int
    bound: int
    proved: bool


class Oracle:
    """Tells the least peaks of graphs that resemble each other, as an architecture search asks for them.

    What it has found of the parts of a graph it remembers: after a small change only the cells that changed are
    searched. One oracle may be asked from several threads; it answers one after the other.

    >>> import serenity
    >>> oracle = serenity.Oracle()
    >>> [oracle.peak(f"zoo:{name}").bytes for name in ("swiftnet-a", "swiftnet-b")]
    [200704, 75264]

    :param runtime: as for :func:`optimize`
    :param kernels: as for :func:`optimize`
    :param time_limit: seconds for each question; ``None`` for no limit
    :param memory_limit: bytes for the tables of a search
    """

    def __init__(
        self,
        *,
        runtime: Optional[str] = None,
        kernels: Optional[str] = None,
        time_limit: Optional[float] = 300.0,
        memory_limit: _options.Size = "4GiB",
    ) -> None:
        self._runtime = runtime
        self._target = _options.target(runtime, kernels)
        self._patience = _options.patience(time_limit, memory_limit, 1)
        self._oracle = _serenity.Oracle()

    def peak(self, source: Source) -> LeastPeak:
        """The least peak of all orders of a graph.

        :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
        """
        graph = as_graph(source, self._runtime, None)
        return LeastPeak(*self._oracle.peak(graph._model, self._target, self._patience))
