#!/usr/bin/env python3
"""The same network before and after rewriting: how far apart are its outputs in ONNX Runtime, its graph optimisation off?

A line for each rewritten MODEL.onnx, compared with the one given by --before at the same position: `difference`, the largest between any
two outputs, and `largest`, the largest output; or `refused`, also by the full check of `onnx.checker`."""

import judging
import numpy
import onnx
import onnxruntime
from ort import random_input


def judge(path, options, _log):
    onnx.checker.check_model(path, full_check=True)
    before, after = session(options.before[options.position]), session(path)
    generator = numpy.random.default_rng(options.seed)
    difference = largest = 0.0
    for _ in range(options.runs):
        feed = {node.name: random_input(node, generator) for node in before.get_inputs()}
        for old, new in zip(before.run(None, feed), after.run(None, feed), strict=True):
            if (old.shape, old.dtype) != (new.shape, new.dtype):
                raise judging.Refused(f"an output was {old.dtype} {old.shape} and is {new.dtype} {new.shape}")
            old, new = old.astype(numpy.float64), new.astype(numpy.float64)
            # Equal infinities are no difference apart; what is no number is never equal.
            apart = numpy.abs(numpy.subtract(old, new, out=numpy.zeros_like(old), where=old != new))
            if numpy.isnan(apart).any():
                raise judging.Refused("an output is no number")
            difference = max(difference, float(apart.max(initial=0)))
            largest = max(largest, float(numpy.abs(old).max(initial=0)))
    return {"difference": difference, "largest": largest}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def add_options(parser):
    parser.add_argument("--before", action="append", required=True, metavar="MODEL", help="one for each rewritten model")


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
