#!/usr/bin/env python3
"""ONNX Runtime on the CPU, one thread: in which order it runs a model, what that takes, and what it computes.

A line a model: `order` (the nodes as they ran, by name, or as TYPE_INDEX without one), `peak` (the largest `mem_in_use_peak` of the first
run: bytes of its arena, in chunks as the arena hands them out), `requested_peak` (the largest sum of requests alive after a node), `activations` (the same without what was
there before the first node ran), and `outputs`, a hash an invocation; or `refused`, also by `onnx.checker`. Figures of the first run only: later runs use what it learned."""

import json
import tempfile

import judging
import numpy
import onnx
import onnxruntime

OPTIMISATION = {
    "off": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
ORDER = {
    "default": onnxruntime.ExecutionOrder.DEFAULT,
    "priority": onnxruntime.ExecutionOrder.PRIORITY_BASED,
}
TYPES = {"float": "float32", "double": "float64"}


def judge(path, options, _log):
    shapes = given_shapes(options)
    onnx.checker.check_model(path)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = session_options.inter_op_num_threads = 1
    session_options.graph_optimization_level = OPTIMISATION[options.optimisation]
    session_options.execution_order = ORDER[options.order]
    session_options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        session_options.profile_file_prefix = f"{folder}/profile"
        session = onnxruntime.InferenceSession(path, session_options, providers=["CPUExecutionProvider"])
        profile = None

        def run(generator):
            nonlocal profile
            feed = {node.name: random_input(node, generator, shapes) for node in session.get_inputs()}
            outputs = session.run(None, feed)
            if profile is None:
                with open(session.end_profiling()) as file:
                    profile = json.load(file)
            return outputs

        outputs = judging.fingerprints(run, options)
    nodes = [event for event in profile if event.get("cat") == "Node"]
    return {
        "order": [event["name"].removesuffix("_kernel_time") for event in nodes],
        "peak": largest(nodes, "mem_in_use_peak"),
        "requested_peak": largest(nodes, "mem_bytes_requested_in_use"),
        "activations": largest(nodes, "mem_bytes_requested_in_use") - there_before(nodes),
        "outputs": outputs,
    }


def given_shapes(options):
    given = options.shapes[options.position].split(" ") if options.shapes else []
    pairs = [text.split("=") for text in given if text]
    return {name: [int(extent) for extent in extents.split(",")] for name, extents in pairs}


def there_before(nodes):
    first = next(event["args"] for event in nodes if "mem_bytes_requested_in_use" in event["args"])
    return int(first["mem_bytes_requested_in_use"]) - int(first["mem_requested_in_use_delta"])


def random_input(node, generator, shapes={}):
    name = node.type.removeprefix("tensor(").removesuffix(")")
    # An extent that the model leaves open is 1, unless the shape is given.
    shape = shapes.get(node.name) or [extent if isinstance(extent, int) else 1 for extent in node.shape]
    return judging.random_input(shape, numpy.dtype(TYPES.get(name, name)), generator)


def largest(nodes, key):
    return max((int(event["args"][key]) for event in nodes if key in event["args"]), default=None)


def add_options(parser):
    parser.add_argument("--optimisation", choices=OPTIMISATION, default="off", help="of the graph (default off)")
    parser.add_argument("--shapes", action="append", help="shapes of its inputs that are open, as `x=1,7 y=1`, once a model")
    parser.add_argument(
        "--order", choices=ORDER, default="priority", help="priority: the file's order; default: a walk of its own"
    )


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
