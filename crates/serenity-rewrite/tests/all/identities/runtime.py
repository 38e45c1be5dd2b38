"""Runs models with LiteRT's reference kernels: for each `NAME.tflite` given, the inputs in `NAME.tflite.in`, packed one behind the other, become the
outputs in `NAME.tflite.out`; what LiteRT refuses is told in `NAME.tflite.refused` instead."""

import sys

import numpy
from ai_edge_litert.interpreter import Interpreter, OpResolverType


def run(path):
    interpreter = Interpreter(
        model_path=path, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    data = open(path + ".in", "rb").read()
    for details in interpreter.get_input_details():
        count = int(numpy.prod(details["shape"]))
        values = numpy.frombuffer(data, details["dtype"], count)
        data = data[values.nbytes :]
        interpreter.set_tensor(details["index"], values.reshape(details["shape"]))
    interpreter.invoke()
    return b"".join(interpreter.get_tensor(d["index"]).tobytes() for d in interpreter.get_output_details())


for path in sys.argv[1:]:
    try:
        result, ending = run(path), ".out"
    except (RuntimeError, ValueError) as error:
        result, ending = str(error).encode(), ".refused"
    with open(path + ending, "wb") as file:
        file.write(result)
