"""Runs a model in TensorFlow Lite for Microcontrollers and a program that was made of its C on the same random inputs, and compares every bit of their outputs.

Started by emitted.rs as `python -c SCRIPT MODEL RUNS SEED PROGRAM…`; a program may have words in front of it that run it. Prints JSON, one object a line, as verify.py does: `{"engine": version}`, and
at the end either `{"result": …}`, `{"missing": why}` if the runtime is not installed, or `{"error": why, "model": "a" or "b"}`. A result of `seconds` tells how long an invocation takes, in both.
"""

import sys

# With -c, Python would import from the current directory first, whatever lies there.
sys.path[:] = [folder for folder in sys.path if folder]

import json
import os
import subprocess
import time

# Runtimes write to file descriptor 1 as they like: ours is another one.
REPORT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def report(**fields):
    print(json.dumps(fields), file=REPORT, flush=True)


def random_input(shape, dtype, generator):
    import numpy

    dtype, shape = numpy.dtype(dtype), [int(extent) for extent in shape]
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.itemsize <= 2:
        bounds = numpy.iinfo(dtype)
        return generator.integers(bounds.min, bounds.max + 1, shape).astype(dtype)
    return generator.integers(0, 4, shape).astype(dtype)


def interpreted(path, runs, seed):
    """Inputs as bytes, outputs as arrays, and seconds, of every invocation."""
    import numpy
    from tflite_micro import runtime
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    with open(path, "rb") as file:
        model = file.read()
    graph = schema.Model.GetRootAs(model, 0).Subgraphs(0)
    names = [graph.Tensors(graph.Outputs(index)).Name() or b"" for index in range(graph.OutputsLength())]
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=256 << 20)
    generator = numpy.random.default_rng(seed)
    given, made, seconds = [], [], []
    for _ in range(2 * runs):
        for index in range(graph.InputsLength()):
            details = interpreter.get_input_details(index)
            value = random_input(details["shape"], details["dtype"], generator)
            interpreter.set_input(value, index)
            given.append(numpy.ascontiguousarray(value).tobytes())
        started = time.perf_counter()
        interpreter.invoke()
        seconds.append(time.perf_counter() - started)
        made.append([numpy.ascontiguousarray(interpreter.get_output(index)).copy() for index in range(graph.OutputsLength())])
    return b"".join(given), made, min(seconds), [name.decode("utf-8", "replace") for name in names]


def difference(expected, found):
    """Is every bit the same, by how much do values differ at most, and how many cannot be subtracted?"""
    import numpy

    if expected.tobytes() == found.tobytes():
        return True, 0.0, 0
    a, b = expected.astype(numpy.float64), found.astype(numpy.float64)
    comparable = numpy.isfinite(a) & numpy.isfinite(b)
    alike = ~comparable & ((a == b) | (numpy.isnan(a) & numpy.isnan(b)))
    most = float(numpy.abs(a - b)[comparable].max()) if comparable.any() else 0.0
    return False, most, int((~comparable & ~alike).sum())


def compare(expected, answer, names):
    import numpy

    outputs = [{"name": name, "equal": True, "max_abs_difference": 0.0, "incomparable": 0} for name in names]
    first, place = None, 0
    for invocation, arrays in enumerate(expected):
        for output, array in zip(outputs, arrays):
            found = numpy.frombuffer(answer[place : place + array.nbytes], array.dtype).reshape(array.shape)
            place += array.nbytes
            equal, most, incomparable = difference(array, found)
            output["equal"] &= equal
            output["max_abs_difference"] = max(output["max_abs_difference"], most)
            output["incomparable"] += incomparable
            if not equal and first is None:
                first = {"run": invocation // 2, "invocation": invocation % 2}
    return {"signature": [], "outputs": outputs, "first_difference": first}


def main():
    path, runs, seed, program = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    try:
        import importlib.metadata

        import tflite_micro  # noqa: F401

        version = importlib.metadata.version("tflite-micro")
    except Exception as error:
        report(missing=f"tflite_micro: {error}")
        return
    report(engine=f"tflite_micro {version}")
    try:
        given, expected, seconds, names = interpreted(path, runs, seed)
    except Exception as error:
        report(error=str(error), model="a")
        return
    ran = subprocess.run(program, input=given, capture_output=True)
    size = sum(array.nbytes for arrays in expected for array in arrays)
    if ran.returncode != 0 or len(ran.stdout) != size:
        said = ran.stderr.decode("utf-8", "replace").strip()[-2000:]
        report(error=f"it ended with {ran.returncode} after {len(ran.stdout)} of {size} bytes: {said}", model="b")
        return
    result = compare(expected, ran.stdout, names)
    result["seconds"] = seconds
    report(result=result)


main()
