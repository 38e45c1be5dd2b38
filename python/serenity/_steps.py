"""From the nodes of a framework to a graph: steps that read, create and change pieces of memory.

What frameworks have and a :class:`Graph` has not is memory that is written again. It becomes an order: whoever changes a piece runs after all that read or changed it before, and whoever reads it afterwards
runs after the change. A tensor of no bytes orders two steps without costing anything.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Optional

from ._graph import Graph, NewOp


@dataclass
class _Step:
    name: str
    type: str
    inputs: list[str] = field(default_factory=list)
    outputs: dict[str, int] = field(default_factory=dict)
    in_place: list[tuple[str, str]] = field(default_factory=list)


class Steps:
    """A graph in the making. Pieces of memory go by any key."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._names: dict[Hashable, str] = {}
        self._inputs: dict[str, int] = {}
        self._steps: list[_Step] = []
        self._creator: dict[Hashable, int] = {}
        self._changed_by: dict[Hashable, int] = {}
        self._readers: dict[Hashable, list[int]] = {}

    def __contains__(self, piece: Hashable) -> bool:
        """Is it known?"""
        return piece in self._names

    def provide(self, piece: Hashable, size: int) -> None:
        """A piece that is there from the start."""
        self._inputs[self._name(piece)] = size

    def step(
        self,
        name: str,
        type: str,
        *,
        reads: Iterable[Hashable] = (),
        creates: Sequence[tuple[Hashable, int]] = (),
        changes: Iterable[Hashable] = (),
        after: Iterable[int] = (),
        in_place: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> int:
        """Add a step, after all those that it depends on; its position.

        ``after`` are steps that must have run though no memory says so. ``in_place`` are pairs (created, read): the one may take the place of the other.
        """
        position = len(self._steps)
        step = _Step(name, type)
        self._steps.append(step)
        changed = list(dict.fromkeys(changes))
        read = list(dict.fromkeys([*reads, *changed]))
        first = set(after)
        for piece in read:
            step.inputs.append(self._names[piece])
            first.add(self._changed_by.get(piece, position))
        for piece in changed:
            first.update(self._readers.get(piece, ()))
        for piece, size in creates:
            step.outputs[self._name(piece)] = size
            self._creator[piece] = position
        step.in_place = [(self._names[new], self._names[old]) for new, old in in_place]
        # Whoever made what is read has run anyway.
        first -= {position} | {self._creator[piece] for piece in read if piece in self._creator}
        for other in sorted(first):
            step.inputs.append(_token(other))
            self._steps[other].outputs.setdefault(_token(other), 0)
        for piece in read:
            self._readers.setdefault(piece, []).append(position)
        for piece in changed:
            self._changed_by[piece], self._readers[piece] = position, []
        return position

    def graph(
        self, wanted: Iterable[Hashable], name: str, without: Collection[tuple[Hashable, Hashable]] = ()
    ) -> Graph:
        """The graph, of which these pieces are wanted in the end, ``without`` some of the pairs."""
        dropped = {(self._names[new], self._names[old]) for new, old in without}
        ops = []
        for position, step in enumerate(self._steps):
            pairs = [pair for pair in step.in_place if pair not in dropped]
            ops.append(NewOp(step.name, step.inputs, self._outputs(position), step.type, pairs))
        outputs = dict.fromkeys(self._names[piece] for piece in wanted)
        return Graph.from_ops(ops, inputs=self._inputs, outputs=outputs, name=name)

    def piece_of(self) -> list[Optional[Hashable]]:
        """The piece that each tensor of the graph is; ``None`` for those that only order steps."""
        pieces = {name: piece for piece, name in self._names.items()}
        names = [*self._inputs, *(name for position in range(len(self._steps)) for name in self._outputs(position))]
        return [pieces.get(name) for name in names]

    def _name(self, piece: Hashable) -> str:
        return self._names.setdefault(piece, f"memory {len(self._names)}")

    def _outputs(self, position: int) -> dict[str, int]:
        # A step that creates nothing still has to stand in the graph.
        return self._steps[position].outputs or {_token(position): 0}


def _token(position: int) -> str:
    return f"after {position}"
