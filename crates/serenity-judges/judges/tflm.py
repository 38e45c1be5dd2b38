#!/usr/bin/env python3
"""TensorFlow Lite for Microcontrollers: what it allocates for a model, by its own recording allocator, and what it computes.

A line a model: `head` (activations and scratch), `tail` (everything that persists), `total`, `split` (the tail by purpose) and `outputs`,
a hash an invocation; or `refused`. A model that allocates but does not run has the figures, and `failed` instead of `outputs`."""

import re

import judging
from tflite_micro import runtime
from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema


def judge(path, options, log):
    with open(path, "rb") as file:
        model = file.read()
    graph = schema.Model.GetRootAs(model, 0).Subgraphs(0)
    arena = options.arena[options.position % len(options.arena)]
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=arena)
    # Before the first access to inputs and outputs, which may allocate too.
    answer = recorded_allocations(interpreter, log)

    def run(generator):
        for index in range(graph.InputsLength()):
            details = interpreter.get_input_details(index)
            interpreter.set_input(judging.random_input(details["shape"], details["dtype"], generator), index)
        interpreter.invoke()
        return [interpreter.get_output(index) for index in range(graph.OutputsLength())]

    try:
        answer["outputs"] = judging.fingerprints(run, options)
    except RuntimeError as error:
        answer["failed"] = str(error)
    return answer


def recorded_allocations(interpreter, log):
    clear(log)
    interpreter.print_allocations()
    log.seek(0)
    text = log.read().decode("utf-8", "replace")
    clear(log)
    sizes = {part: int(re.search(rf"Arena allocation {part} (\d+)", text)[1]) for part in ("head", "tail", "total")}
    split = {match[1]: int(match[2]) for match in re.finditer(r"'([^']+)' used (\d+) bytes", text)}
    return {**sizes, "split": split}


def clear(log):
    log.seek(0)
    log.truncate()


def add_options(parser):
    parser.add_argument(
        "--arena",
        type=lambda sizes: [int(size) for size in sizes.split(",")],
        default=[64 << 20],
        help="bytes given to the runtime, for all models or, with commas between, for each (default 64 MiB)",
    )


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
