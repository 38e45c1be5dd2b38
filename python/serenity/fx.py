"""Graphs of PyTorch: the order of the nodes in which activations need the least memory.

For exported programs and for any ``torch.fx`` graph whose nodes carry ``meta["val"]``, as those of ``torch.export`` and of ``aot_export_module`` do: forward graphs, and joint graphs of training. Needs PyTorch.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, Optional, Union

from ._errors import extra
from ._optimize import optimize as _optimize
from ._result import Result
from ._steps import Steps

with extra("torch"):
    import torch
    import torch.fx
    from torch.utils._pytree import tree_flatten

    from ._relink import dependencies, relink

Program = Union[torch.export.ExportedProgram, torch.fx.GraphModule]


def optimize(program: Program, *, resident: Optional[Iterable[str]] = None, **options: Any) -> Result:
    """Reorder the nodes of a graph in place, so that its activations need the least memory.

    Memory is counted as the eager allocator would: a result lives from its node to its last reader, views share the memory of what they are views of, and what a node changes in place keeps its order with
    all that read it before and after. Inputs that are ``resident``, by name, cost nothing: if nothing is said, the parameters, buffers and constants of an exported program, and nothing of a graph module.
    Options as for :func:`serenity.optimize`. The result speaks of the nodes that compute something: ``order`` are their positions before.
    """
    if isinstance(program, torch.export.ExportedProgram):
        module = program.graph_module
        if resident is None:
            signature = program.graph_signature
            resident = [
                *signature.inputs_to_parameters,
                *signature.inputs_to_buffers,
                *signature.inputs_to_lifted_tensor_constants,
            ]
    elif isinstance(program, torch.fx.GraphModule):
        module = program
    else:
        raise TypeError(f"expected an ExportedProgram or a GraphModule, not {type(program).__name__}")
    steps, groups, wanted = _steps(module, frozenset(resident or ()))
    graph = steps.graph(wanted, getattr(module, "_get_name", lambda: "graph")())
    result = _optimize(graph, **options)
    nodes = list(module.graph.nodes)
    moved = {node for group in groups for node in group}
    front = [node for node in nodes if node not in moved and node.op != "output"]
    last = [node for node in nodes if node.op == "output"]
    relink(module, [*front, *(node for step in result.order for node in groups[step]), *last])
    return result


def _bytes(value: Any) -> int:
    return value.numel() * value.element_size()


def _values(node: torch.fx.Node) -> list[Any]:
    return tree_flatten(node.meta.get("val"))[0]


def _schema(node: torch.fx.Node) -> Any:
    return getattr(node.target, "_schema", None)


def _is_view(node: torch.fx.Node) -> bool:
    schema = _schema(node)
    return bool(schema) and any(out.alias_info is not None and not out.alias_info.is_write for out in schema.returns)


def _changed(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The arguments that a node writes into."""
    schema = _schema(node)
    if not schema:
        return []
    changed = []
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            changed += [other for other in tree_flatten(given)[0] if isinstance(other, torch.fx.Node)]
    return changed


def _steps(
    module: torch.fx.GraphModule, resident: frozenset[str]
) -> tuple[Steps, list[list[torch.fx.Node]], list[Any]]:
    """The graph of what computes, the nodes of each of its steps, and the memory that is wanted in the end."""
    steps, wanted = Steps(), []
    groups: list[list[torch.fx.Node]] = []
    # By node, for each of its values, the pieces of memory that it lies in; by node, the step it belongs to.
    lies: dict[torch.fx.Node, list[list[Any]]] = {}
    step_of: dict[torch.fx.Node, int] = {}

    def pieces(node: torch.fx.Node) -> list[Any]:
        return [piece for value in lies.get(node, ()) for piece in value]

    for node in module.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            value, piece = node.meta.get("val"), (node, 0)
            if isinstance(value, torch.Tensor):
                steps.provide(piece, 0 if node.op == "get_attr" or node.name in resident else _bytes(value))
                lies[node] = [[piece]]
            continue
        before = dependencies(node)
        if node.op == "output":
            wanted = [piece for other in before for piece in pieces(other)]
            continue
        if node.target is operator.getitem and before and before[0] in step_of:
            # Only picks one of several results: it stays with whoever made them.
            source, position = node.args[0], node.args[1]
            values = lies[source]
            lies[node] = [values[position]] if isinstance(position, int) and position < len(values) else values
            step_of[node] = step_of[source]
            groups[step_of[node]].append(node)
            continue
        changed = _changed(node)
        creates = []
        if _is_view(node):
            lies[node] = [pieces(before[0])] * max(1, len(_values(node))) if before else []
        elif changed:
            lies[node] = [pieces(other) for other in changed]
        else:
            lies[node] = []
            for index, value in enumerate(_values(node)):
                is_tensor = isinstance(value, torch.Tensor)
                lies[node].append([(node, index)] if is_tensor else [])
                if is_tensor:
                    creates.append(((node, index), _bytes(value)))
        step_of[node] = steps.step(
            node.name,
            str(node.target),
            reads=[piece for other in before for piece in pieces(other)],
            creates=creates,
            changes=[piece for other in changed for piece in pieces(other)],
            after=[step_of[other] for other in before if other in step_of],
        )
        groups.append([node])
    return steps, groups, wanted
