#!/usr/bin/env python3
"""ONNX Runtime on the CPU, one thread: a default session of the model before, and a fast session (graph optimisation off, `PRIORITY_BASED`, no reuse) of the model.

A line a model: `default` and `fast`, the most bytes of activations asked for and not given back in the first run of each; `default_cpu` and `fast_cpu`, the least
seconds of CPU that a run took, taking turns; `equal`, whether all outputs are the same to the last bit, and `difference`, the largest between two numbers. `--seconds 0` does not measure time."""

import json
import tempfile
import time

import judging
import numpy
import onnxruntime

TYPES = {"float": "float32", "double": "float64"}


def judge(path, options, _log):
    before = options.before[options.position]
    shapes = {}
    for given in filter(None, options.shapes[options.position].split(" ") if options.shapes else []):
        name, extents = given.split("=")
        shapes[name] = [int(extent) for extent in extents.split(",")]
    # The first runs are the measure; sessions that are timed do not write profiles.
    feed = inputs(before, shapes, options)
    default, expected = first_run(before, False, feed)
    # The same inputs by the same names: whoever ran the one can run the other.
    fast, found = first_run(path, True, feed)
    pairs = [(numpy.asarray(one), numpy.asarray(other)) for one, other in zip(expected, found)]
    return {
        "default": default,
        "fast": fast,
        "equal": len(expected) == len(found) and all(one.tobytes() == other.tobytes() for one, other in pairs),
        "difference": max((float(numpy.abs(one.astype(float) - other.astype(float)).max()) for one, other in pairs if one.size), default=0.0),
        **dict(zip(("default_cpu", "fast_cpu"), times([before, path], feed, options.seconds))),
    }


def settings(is_fast):
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    if is_fast:
        settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        settings.execution_order = onnxruntime.ExecutionOrder.PRIORITY_BASED
        settings.enable_mem_reuse = False
    return settings


def inputs(path, shapes, options):
    session = onnxruntime.InferenceSession(path, settings(False), providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(options.seed)
    return {node.name: random_input(node, shapes, generator) for node in session.get_inputs()}


def first_run(path, is_fast, feed):
    with tempfile.TemporaryDirectory() as folder:
        chosen = settings(is_fast)
        chosen.enable_profiling = True
        chosen.profile_file_prefix = f"{folder}/profile"
        session = onnxruntime.InferenceSession(path, chosen, providers=["CPUExecutionProvider"])
        outputs = session.run(None, feed)
        with open(session.end_profiling()) as file:
            events = json.load(file)
    nodes = [event["args"] for event in events if event.get("cat") == "Node" and event["name"].endswith("_kernel_time")]
    start = int(nodes[0]["mem_bytes_requested_in_use"]) - int(nodes[0]["mem_requested_in_use_delta"])
    return max(int(node["mem_bytes_requested_in_use"]) for node in nodes) - start, outputs


def times(paths, feed, seconds):
    if not seconds:
        return [0.0, 0.0]
    sessions = [
        onnxruntime.InferenceSession(path, settings(bool(index)), providers=["CPUExecutionProvider"])
        for index, path in enumerate(paths)
    ]
    least = [float("inf")] * 2
    started, turns = time.monotonic(), 0
    while turns < 5 or time.monotonic() - started < seconds:
        for index, session in enumerate(sessions):
            begin = time.process_time()
            session.run(None, feed)
            least[index] = min(least[index], time.process_time() - begin)
        turns += 1
    return least


def random_input(node, shapes, generator):
    name = node.type.removeprefix("tensor(").removesuffix(")")
    shape = shapes.get(node.name) or [extent if isinstance(extent, int) else 1 for extent in node.shape]
    return judging.random_input(shape, numpy.dtype(TYPES.get(name, name)), generator)


def add_options(parser):
    parser.add_argument("--before", action="append", required=True, help="the model as it came, once a model")
    parser.add_argument("--shapes", action="append", help="shapes of its inputs that are open, as `x=1,7 y=1`, once a model")
    parser.add_argument("--seconds", type=float, default=2, help="to measure the time for (default 2)")


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
