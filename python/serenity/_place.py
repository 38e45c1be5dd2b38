"""The allocator alone: buffers with lifetimes in, offsets out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from . import _options, _serenity
from ._graph import Graph
from ._load import Source, as_graph


class Buffer(NamedTuple):
    """Memory of ``size`` bytes that is in use from step ``lower`` until before step ``upper``; at a fixed ``offset``, if one is given."""

    size: int
    lower: int
    upper: int
    offset: Optional[int] = None


class PlacedBuffer(NamedTuple):
    """A buffer of a model and where it lies. ``tensors`` are positions in :attr:`Graph.tensors`; none for scratch memory."""

    name: str
    tensors: list[int]
    lower: int
    upper: int
    size: int
    offset: int


class Placement(NamedTuple):
    """Where each buffer lies, how high the arena is, and what is proved about that."""

    offsets: list[int]
    height: int
    bound: int
    stopped: Optional[str]
    seconds: float
    buffers: list[PlacedBuffer]

    @property
    def proof(self) -> str:
        """``optimal`` if no placement is lower, otherwise ``gap``."""
        return "optimal" if self.stopped is None else "gap"

    @property
    def by_tensor(self) -> dict[int, int]:
        """The offset of every tensor of a model, by its position."""
        return {tensor: buffer.offset for buffer in self.buffers for tensor in buffer.tensors}


def place(
    buffers: Union[Iterable[Union[Buffer, Sequence[Any], Mapping[str, Any]]], Source],
    *,
    overlaps: Iterable[tuple[int, int]] = (),
    order: Optional[Sequence[int]] = None,
    align: Optional[int] = None,
    planner: str = "exact",
    capacity: Optional[_options.Size] = None,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
) -> Placement:
    """Place buffers in the lowest arena, and prove it.

    ``buffers`` are :class:`Buffer`, tuples or mappings of its fields; or a model, whose tensors are placed for its own order or for ``order``.
    ``overlaps`` lists pairs (writer, over) of buffers: the first may be written over the second at the same offset, at the last step at which that is in use. ``align``: every offset is a
    multiple of this. ``capacity`` ends the search as soon as it is settled whether that is enough. ``runtime`` and ``kernels`` are for models.

    >>> import serenity
    >>> placement = serenity.place([(30, 0, 2), (20, 1, 3), (10, 2, 4), (40, 3, 5)])
    >>> placement.height, placement.proof
    (50, 'optimal')
    """
    patience = _options.patience(time_limit, memory_limit, effort)
    align = None if align is None else _options.whole(align, "align")
    limit = None if capacity is None else _options.size(capacity, "capacity")
    if isinstance(buffers, (Graph, str, bytes)) or hasattr(buffers, "__fspath__"):
        graph = as_graph(buffers)  # type: ignore[arg-type]
        target = _options.target(runtime, kernels)
        steps = None if order is None else list(order)
        contents, placed = _serenity.place_model(graph._model, steps, target, align, planner, limit, patience)
        offsets, height, bound, stopped, seconds = placed
        named = [PlacedBuffer(*content, offset) for content, offset in zip(contents, offsets)]
    else:
        listed = [_buffer(buffer) for buffer in buffers]  # type: ignore[union-attr]
        rows = [(_options.size(size, "size"), lower, upper, offset) for size, lower, upper, offset in listed]
        placed = _serenity.place(rows, list(overlaps), align or 1, planner, limit, patience)
        offsets, height, bound, stopped, seconds = placed
        named = [PlacedBuffer(str(i), [], b.lower, b.upper, b.size, o) for i, (b, o) in enumerate(zip(listed, offsets))]
    return Placement(offsets, height, bound, stopped, seconds, named)


class Division(NamedTuple):
    """Which of two memories each buffer lies in, and where.

    ``memories`` holds the name of a memory for each buffer, ``offsets`` where it begins there, ``used`` the bytes used of each memory. ``moved`` are the bytes read and written in the second
    memory, ``bound`` the least that any division moves there.
    """

    memories: list[str]
    offsets: list[int]
    used: dict[str, int]
    moved: int
    bound: int
    stopped: Optional[str]

    @property
    def proof(self) -> str:
        """``optimal`` if no division moves fewer bytes in the second memory, otherwise ``gap``."""
        return "optimal" if self.stopped is None else "gap"


def divide(
    buffers: Iterable[Union[Buffer, Sequence[Any], Mapping[str, Any]]],
    memories: Mapping[str, _options.Size],
    *,
    traffic: Optional[Iterable[tuple[int, int]]] = None,
    align: int = 1,
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
) -> Division:
    """Divide buffers among a fast and a slow memory, so that few bytes are moved in the slow one.

    ``buffers`` as for :func:`place`, without fixed offsets. ``memories`` are two names with their sizes, the fast one first. ``traffic`` holds the bytes read and the bytes written in each buffer; by default each
    is written once and read once. Raises :class:`BudgetError` if no division is found that fits.

    >>> import serenity
    >>> division = serenity.divide([(60, 0, 2), (50, 1, 4), (60, 3, 5)], {"fast": 100, "slow": 1000})
    >>> division.memories, division.moved, division.proof
    (['fast', 'slow', 'fast'], 100, 'optimal')
    """
    listed = [_buffer(buffer) for buffer in buffers]
    if any(buffer.offset is not None for buffer in listed):
        raise ValueError("buffers that are divided among memories have no fixed offsets: leave them out")
    rows = [(_options.size(size, "size"), lower, upper, None) for size, lower, upper, _ in listed]
    moved = [(row[0], row[0]) for row in rows] if traffic is None else [(int(r), int(w)) for r, w in traffic]
    named = [(str(name), _options.size(size, name)) for name, size in memories.items()]
    if len(named) != 2:
        raise ValueError(
            f"memories are two, the fast one first, such as {{'sram': '64KB', 'psram': '8MB'}}, not {len(named)}"
        )
    patience = _options.patience(time_limit, memory_limit, effort)
    placed, used, slow, bound, stopped = _serenity.divide(
        rows, moved, (named[0], named[1]), _options.whole(align, "align"), patience
    )
    names = [name for name, _ in named]
    return Division(
        [names[memory] for memory, _ in placed], [at for _, at in placed], dict(zip(names, used)), slow, bound, stopped
    )


def _buffer(fields: Any) -> Buffer:
    """A buffer, in whatever form it is given."""
    try:
        return Buffer(**fields) if isinstance(fields, Mapping) else Buffer(*fields)
    except TypeError:
        raise TypeError(
            f"a buffer is (size, lower, upper), with a fixed offset if there is one, not {fields!r}"
        ) from None
