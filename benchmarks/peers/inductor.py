#!/usr/bin/env python3
"""PyTorch's inductor: the orders among which it chooses the one of least memory. A line a graph in Serenity's JSON: `lpmf`, `bfs` and `dfs`, each the positions of the ops."""

import json
import sys
from types import SimpleNamespace

from beside import judging
from torch._inductor import memory
from torch.utils._ordered_set import OrderedSet


class Node:
    """An operation as inductor's orders look at it."""

    def __init__(self, position):
        self.position = position

    def get_name(self):
        return str(self.position)

    def get_outputs(self):
        return self.outputs

    def get_buffer_names(self):
        return [buffer.get_name() for buffer in self.outputs]


class Buffer:
    """What an operation writes."""

    def __init__(self, tensor, costs):
        self.tensor, self.mpi_buffer = tensor, costs

    def get_name(self):
        return name(self.tensor)


def judge(path, _options, _log):
    sys.setrecursionlimit(100_000)
    with open(path) as file:
        graph = json.load(file)
    nodes, inputs, buffers = as_inductor_sees(graph)
    outputs = OrderedSet(name(tensor) for tensor in graph["outputs"])
    orders = {
        "lpmf": memory.topological_sort_lpmf(nodes, inputs, buffers, outputs),
        "bfs": memory.topological_sort_bfs(nodes),
        "dfs": memory.topological_sort_dfs(nodes),
    }
    return {which: [node.position for node in order] for which, order in orders.items()}


def name(tensor):
    return f"tensor{tensor}"


def as_inductor_sees(graph):
    """Nodes, inputs that can be freed, and buffers by name."""
    sizes = {tensor["id"]: tensor["bytes"] for tensor in graph["tensors"]}
    nodes = [Node(position) for position in range(len(graph["ops"]))]
    pairs = list(zip(nodes, graph["ops"]))
    writer = {tensor: node for node, op in pairs for tensor in op["outputs"]}
    readers = {tensor: OrderedSet() for tensor in sizes}
    for node, op in pairs:
        for tensor in op["inputs"]:
            readers[tensor].add(node)

    def costs(tensor):
        return memory.MemoryPlanningInfoForBuffer(sizes[tensor], sizes[tensor], readers[tensor], readers[tensor])

    made = {tensor: Buffer(tensor, costs(tensor)) for tensor in writer}
    inputs = {name(tensor): memory.FreeableInputBuffer(name(tensor), costs(tensor)) for tensor in graph["inputs"] if readers[tensor]}
    for node, op in pairs:
        made_before = [tensor for tensor in op["inputs"] if tensor in made]
        node.outputs = [made[tensor] for tensor in op["outputs"]]
        node.unmet_dependencies = [SimpleNamespace(name=name(tensor)) for tensor in made_before]
        node.mpi_node = memory.MemoryPlanningInfoForNode(
            index=node.position,
            size=sum(sizes[tensor] for tensor in op["outputs"]),
            pred_buffers=OrderedSet(made.get(tensor) or inputs[name(tensor)] for tensor in op["inputs"] if tensor in made or name(tensor) in inputs),
            pred_nodes=OrderedSet(writer[tensor] for tensor in made_before),
            succ_nodes=OrderedSet(reader for tensor in op["outputs"] for reader in readers[tensor]),
        )
    return nodes, inputs, {buffer.get_name(): buffer for buffer in made.values()}


if __name__ == "__main__":
    judging.main(__doc__, judge)
