#!/usr/bin/env python3
"""The same network before and after rewriting: how far apart are its outputs in a runtime for .tflite?

A line for each rewritten MODEL.tflite, compared with the one given by --before at the same position: `difference`, the largest between any
two outputs, `largest`, the largest output, and `identical`, whether every bit is the same; or `refused`. If the runtime refuses the model
before rewriting, `not_before` says why."""

import judging
import numpy
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

ARENA = 64 << 20


def judge(path, options, _log):
    invocations = judging.INVOCATIONS_A_RUN * options.runs

    def outputs(path):
        engine, generator = ENGINES[options.engine](path), numpy.random.default_rng(options.seed)
        return [engine.run(generator) for _ in range(invocations)]

    try:
        before = outputs(options.before[options.position])
    except Exception as error:
        return {"not_before": f"{type(error).__name__}: {error}"}
    difference = largest = 0.0
    identical = True
    for old_outputs, new_outputs in zip(before, outputs(path), strict=True):
        identical &= judging.fingerprint(old_outputs) == judging.fingerprint(new_outputs)
        for old, new in zip(old_outputs, new_outputs, strict=True):
            if (old.shape, old.dtype) != (new.shape, new.dtype):
                raise judging.Refused(f"an output was {old.dtype} {old.shape} and is {new.dtype} {new.shape}")
            old, new = old.astype(numpy.float64), new.astype(numpy.float64)
            # Equal infinities are no difference apart; what is no number is never equal.
            apart = numpy.abs(numpy.subtract(old, new, out=numpy.zeros_like(old), where=old != new))
            if numpy.isnan(apart).any():
                raise judging.Refused("an output is no number")
            difference = max(difference, float(apart.max(initial=0)))
            largest = max(largest, float(numpy.abs(old).max(initial=0)))
    return {"difference": difference, "largest": largest, "identical": identical}


class LiteRt:
    def __init__(self, path, resolver):
        self.interpreter = Interpreter(model_path=path, experimental_op_resolver_type=resolver, num_threads=1)
        self.interpreter.allocate_tensors()

    def run(self, generator):
        for details in self.interpreter.get_input_details():
            values = judging.random_input(details["shape"], details["dtype"], generator)
            self.interpreter.set_tensor(details["index"], values)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(details["index"]) for details in self.interpreter.get_output_details()]


class Tflm:
    def __init__(self, path):
        with open(path, "rb") as file:
            model = file.read()
        self.graph = schema.Model.GetRootAs(model, 0).Subgraphs(0)
        self.interpreter = runtime.Interpreter.from_bytes(model, arena_size=ARENA)

    def run(self, generator):
        for index in range(self.graph.InputsLength()):
            details = self.interpreter.get_input_details(index)
            self.interpreter.set_input(judging.random_input(details["shape"], details["dtype"], generator), index)
        self.interpreter.invoke()
        return [self.interpreter.get_output(index) for index in range(self.graph.OutputsLength())]


# LiteRT by itself hands what it can to XNNPACK.
ENGINES = {
    "litert-reference": lambda path: LiteRt(path, OpResolverType.BUILTIN_REF),
    "litert": lambda path: LiteRt(path, OpResolverType.AUTO),
    "tflm": Tflm,
}


def add_options(parser):
    parser.add_argument("--before", action="append", required=True, metavar="MODEL", help="one for each rewritten model")
    parser.add_argument("--engine", choices=sorted(ENGINES), required=True)


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
