"""Puts the nodes of a torch.fx graph into another order."""

from __future__ import annotations

from collections.abc import Iterable

import torch.fx
from torch.utils._pytree import tree_flatten


def dependencies(node: torch.fx.Node) -> list[torch.fx.Node]:
    """The nodes that a node takes, each once, wherever they stand in its arguments."""
    flat = tree_flatten([node.args, node.kwargs])[0]
    return list(dict.fromkeys(other for other in flat if isinstance(other, torch.fx.Node)))


def relink(module: torch.fx.GraphModule, nodes: Iterable[torch.fx.Node]) -> None:
    """Let the nodes run in this order; all of them are in it."""
    last = None
    for node in nodes:
        if last is not None and last.next is not node:
            last.append(node)
        last = node
    module.graph.lint()
    module.recompile()
