#!/usr/bin/env python3
"""TensorFlow Lite for Microcontrollers: how much longer each model takes than the one before it.

A line a model: `before` and `after`, the least seconds of CPU that an invocation took. Both take turns, so that both meet the same machine."""

import time

import judging
import numpy
from tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

SECONDS = 6
LEAST = 5


def judge(path, options, log):
    both = [ready(options.before[options.position]), ready(path)]
    least = [float("inf")] * 2
    started, turns = time.monotonic(), 0
    while turns < LEAST or time.monotonic() - started < SECONDS:
        for index, interpreter in enumerate(both):
            begin = time.thread_time()
            interpreter.invoke()
            least[index] = min(least[index], time.thread_time() - begin)
        turns += 1
    return {"before": least[0], "after": least[1]}


def ready(path):
    with open(path, "rb") as file:
        model = file.read()
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=64 << 20)
    generator = numpy.random.default_rng(1)
    for index in range(schema.Model.GetRootAs(model, 0).Subgraphs(0).InputsLength()):
        details = interpreter.get_input_details(index)
        interpreter.set_input(judging.random_input(details["shape"], details["dtype"], generator), index)
    return interpreter


def add_options(parser):
    parser.add_argument("--before", action="append", required=True, help="the model to compare with, once a model")


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
