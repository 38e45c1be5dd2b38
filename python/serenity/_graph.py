"""Models and graphs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from . import _html, _options, _serenity, _write
from ._errors import Error, extra

if TYPE_CHECKING:
    import networkx

Pair = tuple[str, str]

#: Operators and tensors that a notebook shows; the rest is counted.
_MOST_SHOWN = 8


class Tensor(NamedTuple):
    """A tensor of a graph: only activations, weights cost the same in every order."""

    name: str
    bytes: int
    shape: Optional[list[int]] = None
    dtype: Optional[str] = None


class Op(NamedTuple):
    """An operator, as :attr:`Graph.ops` lists it: inputs and outputs are positions in :attr:`Graph.tensors`."""

    name: str
    type: str
    inputs: list[int]
    outputs: list[int]


class NewOp(NamedTuple):
    """An operator for :meth:`Graph.from_ops`.

    ``inputs`` are names of tensors; ``outputs`` gives the bytes of each by its name, or the bytes of a single one that is called as the operator.
    ``in_place`` lists pairs (output, input): the kernel may write that output over that input, if nobody needs it any more. Both have the same size.
    ``aliases`` lists pairs (output, input): the output is only another name for (a part of) the input, and takes no memory of its own.
    """

    name: str
    inputs: Sequence[str]
    outputs: Union[Mapping[str, int], int]
    type: str = ""
    in_place: Sequence[Pair] = ()
    aliases: Sequence[Pair] = ()


class Graph:
    """A model or a graph: made by :func:`serenity.load`, :meth:`from_ops` or :meth:`from_networkx`, and never changed."""

    __slots__ = ("_model",)

    def __init__(self, model: _serenity.Model):
        """For the functions of this package: use :func:`serenity.load`, :meth:`from_ops` or :meth:`from_networkx`."""
        if not isinstance(model, _serenity.Model):
            raise TypeError("use serenity.load, Graph.from_ops or Graph.from_networkx to make a graph")
        self._model = model

    @classmethod
    def from_ops(
        cls,
        ops: Iterable[Union[NewOp, Sequence[Any], Mapping[str, Any]]],
        *,
        inputs: Optional[Mapping[str, int]] = None,
        outputs: Optional[Iterable[str]] = None,
        name: str = "graph",
    ) -> Graph:
        """A graph from its operators, in an order that can run or not.

        ``ops`` are :class:`NewOp`, tuples of its fields or mappings with them. ``inputs`` are the tensors that the caller provides, with their bytes; ``outputs`` those the caller wants in the end:
        if nothing is said, all that nobody reads.

        >>> import serenity
        >>> graph = serenity.Graph.from_ops(
        ...     [("side", ["x"], 4000), ("big", ["x"], 9000), ("small", ["big"], 1000), ("out", ["side", "small"], 1000)],
        ...     inputs={"x": 1000},
        ... )
        >>> serenity.optimize(graph).peak
        11000
        """
        listed = [_new_op(op) for op in ops]
        tensors: dict[str, int] = {}
        for source in [dict(inputs or {}), *(_outputs(op) for op in listed)]:
            for tensor, size in source.items():
                if tensor in tensors:
                    raise ValueError(f"tensor `{tensor}` has two producers; give each output a name of its own")
                tensors[tensor] = _options.size(size, f"the size of tensor `{tensor}`")
        ids = {tensor: position for position, tensor in enumerate(tensors)}

        def find(tensor: str, where: str) -> int:
            if tensor not in ids:
                raise ValueError(
                    f"{where} names tensor `{tensor}`, which no op writes and which is no input; add it to inputs"
                )
            return ids[tensor]

        rows = []
        for op in listed:
            where = f"op `{op.name}`"
            in_place, aliases = (
                [(find(y, where), find(x, where)) for y, x in pairs] for pairs in (op.in_place, op.aliases)
            )
            reads = [find(tensor, where) for tensor in op.inputs]
            rows.append((op.name, op.type, reads, [ids[tensor] for tensor in _outputs(op)], in_place, aliases))
        if outputs is None:
            read = {tensor for op in listed for tensor in op.inputs}
            outputs = [tensor for op in listed for tensor in _outputs(op) if tensor not in read]
        wanted = [find(tensor, "outputs") for tensor in outputs]
        return cls(_serenity.build(name, list(tensors.items()), rows, [ids[tensor] for tensor in inputs or ()], wanted))

    @classmethod
    def from_networkx(
        cls,
        graph: networkx.DiGraph,
        *,
        bytes: Union[str, Callable[[Any], int]] = "bytes",
        name: Optional[str] = None,
    ) -> Graph:
        """A graph from a directed graph of networkx: every node is an operator that writes one tensor, every edge a read.

        ``bytes`` is the attribute that holds the size of a node's tensor, or a function of the node. A node whose attribute ``input`` is true is no operator but a tensor that the caller provides.
        The attributes ``type`` and ``output`` (wanted in the end) are looked at too; if no node has ``output``, those are wanted that nobody reads.
        """
        if not graph.is_directed():
            raise ValueError("the edges must have a direction, from producer to reader; use networkx.DiGraph")

        def bytes_of(node: Any) -> int:
            if callable(bytes):
                return bytes(node)
            if bytes not in graph.nodes[node]:
                raise ValueError(f"node `{node}` has no attribute `{bytes}`; add it, or pass bytes=")
            return int(graph.nodes[node][bytes])

        inputs, ops, wanted = {}, [], []
        for node, attributes in graph.nodes(data=True):
            if attributes.get("input"):
                inputs[str(node)] = bytes_of(node)
            else:
                reads = [str(other) for other in graph.predecessors(node)]
                ops.append(NewOp(str(node), reads, bytes_of(node), str(attributes.get("type", ""))))
            if attributes.get("output"):
                wanted.append(str(node))
        return cls.from_ops(ops, inputs=inputs, outputs=wanted or None, name=name or graph.name or "graph")

    def to_networkx(self) -> networkx.DiGraph:
        """The graph of operators for networkx: nodes are positions of ops, edges go from producer to reader."""
        with extra("networkx"):
            import networkx

        graph = networkx.DiGraph(name=self.name)
        tensors, producer = self.tensors, {}
        for position, op in enumerate(self.ops):
            size = sum(tensors[tensor].bytes for tensor in op.outputs)
            graph.add_node(position, name=op.name, type=op.type, bytes=size)
            producer.update(dict.fromkeys(op.outputs, position))
        for position, op in enumerate(self.ops):
            graph.add_edges_from((producer[tensor], position) for tensor in op.inputs if tensor in producer)
        return graph

    @property
    def name(self) -> str:
        """What it was read from, or the name it was given."""
        return self._model.name

    @property
    def format(self) -> str:
        """``tflite``, ``onnx`` or ``json`` (a graph without weights)."""
        return self._model.format

    @property
    def runtime(self) -> str:
        """The runtime for which it is optimised if nothing else is said."""
        return self._model.runtime

    @property
    def ops(self) -> list[Op]:
        """The operators of the main graph, in the order of the file."""
        return [Op(*fields) for fields in self._model.ops()]

    @property
    def tensors(self) -> list[Tensor]:
        """The tensors of the main graph."""
        return [Tensor(*fields) for fields in self._model.tensors()]

    @property
    def inputs(self) -> list[int]:
        """The tensors that the caller provides, by position."""
        return self._model.inputs()

    @property
    def outputs(self) -> list[int]:
        """The tensors that the caller wants, by position."""
        return self._model.outputs()

    def peak(
        self, order: Optional[Sequence[int]] = None, *, runtime: Optional[str] = None, kernels: Optional[str] = None
    ) -> int:
        """The most memory in use if the operators run in this order, or in that of the file.

        In a file with loops that Serenity wrote, what a loop hands on from one round to the next lies in the same bytes and counts once. The plan in the file is for its own order: another ``order`` is counted without it.
        """
        return self._model.peak(None if order is None else list(order), _options.target(runtime, kernels))

    def to_json(self) -> str:
        """The main graph in Serenity's JSON format (docs/FORMATS.md), without weights."""
        return self._model.to_json()

    def to_bytes(self) -> bytes:
        """The file, as it was read."""
        return self._model.bytes()

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the main graph as a JSON graph."""
        _write.atomically(path, self.to_json().encode())

    def __len__(self) -> int:
        """How many operators the main graph has."""
        return len(self._model)

    def __repr__(self) -> str:
        """One line."""
        return f"<serenity.Graph {self.name!r}: {len(self)} ops, format {self.format}>"

    def _repr_html_(self) -> str:
        tensors = self.tensors

        def named(positions: Iterable[int]) -> str:
            listed = [f"{tensors[at].name} ({tensors[at].bytes:,} bytes)" for at in positions]
            return ", ".join(listed[:_MOST_SHOWN]) + (", …" if len(listed) > _MOST_SHOWN else "")

        try:
            peak = f"{self.peak():,} bytes in its own order, memory model {self.runtime}"
        except Error as error:
            peak = f"unknown: {error.message}"
        facts = f"{self!r}"[1:-1] + f"\ninputs   {named(self.inputs)}\noutputs  {named(self.outputs)}\npeak     {peak}"
        shown = [(op.name, op.type, sum(tensors[at].bytes for at in op.outputs)) for op in self.ops[:_MOST_SHOWN]]
        if len(self) > _MOST_SHOWN:
            shown.append((f"and {len(self) - _MOST_SHOWN:,} more", "", ""))
        return _html.card(_html.pre(facts), _html.table(["operator", "type", "bytes it writes"], shown))

    def __reduce__(self) -> Any:
        """Pickled as the file it was read from."""
        return _unpickle, (self._model.name, self._model.bytes(), self._model.format, self._model.runtime)


def _unpickle(name: str, content: bytes, format: str, runtime: str) -> Graph:
    if name.startswith("zoo:"):
        return Graph(_serenity.load(name, _options.reading(None, None, False)))
    # Some runtimes count operators on constants and others do not: as before.
    reads_for = runtime if format == "onnx" and runtime in ("plain", "paper") else None
    return Graph(_serenity.read(name, content, format, _options.reading(reads_for, None, False)))


def _new_op(op: Union[NewOp, Sequence[Any], Mapping[str, Any]]) -> NewOp:
    if isinstance(op, NewOp):
        return op
    if isinstance(op, Mapping):
        return NewOp(**op)
    if isinstance(op, (str, bytes)) or not isinstance(op, Sequence):
        raise TypeError(f"an op is a NewOp, a tuple (name, inputs, outputs, ...) or a mapping, not {type(op).__name__}")
    return NewOp(*op)


def _outputs(op: NewOp) -> Mapping[str, int]:
    return op.outputs if isinstance(op.outputs, Mapping) else {op.name: op.outputs}
