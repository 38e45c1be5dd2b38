#!/usr/bin/env python3
"""The same network as .onnx and as .tflite: how far apart are ONNX Runtime, its graph optimisation off, and LiteRT?

A line for each MODEL.onnx, beside which a MODEL.tflite must lie: `difference`, the largest between any two outputs, and `largest`, the
largest output; or `refused`. Feature maps have their channels first in one and last in the other."""

import judging
import numpy
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def judge(path, options, _log):
    session_options = onnxruntime.SessionOptions()
    session_options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, session_options, providers=["CPUExecutionProvider"])
    interpreter = Interpreter(
        model_path=path.removesuffix(".onnx") + ".tflite",
        experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    generator = numpy.random.default_rng(options.seed)
    difference = largest = 0.0
    for _ in range(options.runs):
        feed = {}
        for node, details in zip(session.get_inputs(), interpreter.get_input_details(), strict=True):
            values = judging.random_input(details["shape"], details["dtype"], generator)
            interpreter.set_tensor(details["index"], values)
            feed[node.name] = moved(values, (0, 3, 1, 2))
        interpreter.invoke()
        outputs = session.run(None, feed)
        for ours, details in zip(outputs, interpreter.get_output_details(), strict=True):
            theirs = moved(interpreter.get_tensor(details["index"]), (0, 3, 1, 2))
            if ours.shape != theirs.shape:
                raise judging.Refused(f"an output of shape {ours.shape} and one of {theirs.shape}")
            difference = max(difference, float(numpy.abs(ours - theirs).max()))
            largest = max(largest, float(numpy.abs(theirs).max()))
    return {"difference": difference, "largest": largest}


def moved(array, axes):
    return array.transpose(axes) if array.ndim == 4 else array


if __name__ == "__main__":
    judging.main(__doc__, judge)
