#!/usr/bin/env python3
"""LiteRT (TensorFlow Lite) with its reference kernels and no delegate: where its planner puts every tensor, and what it computes.

A line a model: `arena` (bytes of the arena of activations and temporaries), `offsets` (in it, by tensor index), `persistent` (bytes of the
second arena: variables, and constants that are unpacked once), `heap` (bytes of tensors that are in no arena, because their size is not
known beforehand or because they are computed while the graph is prepared), `bodies` (the same of further sub-graphs) and `outputs`, a hash
an invocation; or `refused`. All sizes after the last invocation: what follows a tensor of unknown size is planned while the graph runs."""

import os
import struct

import judging
from ai_edge_litert.interpreter import Interpreter, OpResolverType

# What `TfLiteAllocationType` calls the places of a tensor.
ARENA, PERSISTENT_ARENA, DYNAMIC, PERSISTENT_READ_ONLY = 2, 3, 4, 5


def judge(path, options, _log):
    interpreter = Interpreter(
        model_path=path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()

    def run(generator):
        for details in interpreter.get_input_details():
            values = judging.random_input(details["shape"], details["dtype"], generator)
            interpreter.set_tensor(details["index"], values)
        interpreter.invoke()
        return [interpreter.get_tensor(details["index"]) for details in interpreter.get_output_details()]

    outputs = judging.fingerprints(run, options)
    main_graph, *bodies = [memory(tensors) for tensors in tensors_of_sub_graphs(interpreter)]
    return {**main_graph, "bodies": bodies, "outputs": outputs}


def memory(tensors):
    in_arena = {i: t for i, t in enumerate(tensors) if t.place == ARENA and t.address and t.bytes}
    base = min((tensor.address for tensor in in_arena.values()), default=0)
    on_heap = [tensor for tensor in tensors if tensor.place in (DYNAMIC, PERSISTENT_READ_ONLY) and tensor.address]
    return {
        "arena": span(in_arena.values()),
        "offsets": {str(index): tensor.address - base for index, tensor in in_arena.items()},
        "persistent": span([t for t in tensors if t.place == PERSISTENT_ARENA and t.address and t.bytes]),
        "heap": sum(tensor.bytes for tensor in on_heap),
    }


def span(tensors):
    ends = [(tensor.address, tensor.address + tensor.bytes) for tensor in tensors]
    return max(end for _, end in ends) - min(start for start, _ in ends) if ends else 0


class Tensor:
    """A `TfLiteTensor` as it lies in memory (lite/core/c/common.h): the Python interface shows addresses but not whether they are in an
    arena, and two arenas may lie side by side, so that addresses alone cannot tell them apart."""

    LAYOUT = struct.Struct("<i4xQQfiixxxxQ64x")

    def __init__(self, words):
        _type, self.address, _dims, _scale, _zero_point, self.place, self.bytes = self.LAYOUT.unpack(words)


def tensors_of_sub_graphs(interpreter):
    """The tensors of every sub-graph. `tflite::Interpreter` begins with a pointer to the context of the first one. A context begins with
    the number of its tensors, one more word, the tensors themselves and a pointer back to the sub-graph that it is part of; so we know
    one when we see it, and a version that is laid out otherwise raises an error instead of giving wrong figures."""
    memory = Memory()
    counts = [interpreter._interpreter.NumTensors(index) for index in range(interpreter.num_subgraphs())]
    members = memory.words(interpreter._native_handle(), 64)
    context = found(word for word in members if is_context(memory, word, counts[0]))
    first = memory.words(context, 4)[3]
    lists = (memory.words(word, len(counts)) for word in members)
    sub_graphs = found(pointers for pointers in lists if pointers and pointers[0] == first)
    return [
        read_tensors(memory, sub_graph + (context - first), count) for sub_graph, count in zip(sub_graphs, counts)
    ]


def read_tensors(memory, context, count):
    found(at for at in [context] if is_context(memory, at, count))
    start, size = memory.words(context, 4)[2], Tensor.LAYOUT.size
    return [Tensor(memory.read(start + size * index, size)) for index in range(count)]


def found(candidates):
    for candidate in candidates:
        return candidate
    raise judging.Refused("this version of LiteRT lays out its memory in a way that is not known here")


def is_context(memory, address, tensor_count):
    words = memory.words(address, 4)
    return words is not None and words[0] == tensor_count and words[3] <= address < words[3] + 4096


class Memory:
    """Our own memory, read through the kernel: an address that is none gives nothing instead of a crash."""

    def __init__(self):
        self.file = os.open("/proc/self/mem", os.O_RDONLY)

    def read(self, address, size):
        try:
            found = os.pread(self.file, size, address)
        except (OSError, OverflowError):
            return None
        return found if len(found) == size else None

    def words(self, address, count):
        found = self.read(address, 8 * count)
        return found and struct.unpack(f"<{count}Q", found)


if __name__ == "__main__":
    judging.main(__doc__, judge)
