"""Runs a model in TensorFlow Lite for Microcontrollers and a program that was made of its C on the same random inputs, and compares every bit of their outputs.

Started by emitted.rs as `python -c SCRIPT MODEL RUNS SEED HOP PROGRAM…`; with a hop, each input is the one before moved by so many rows, and only new rows are handed to the program, which may have words in front of it that run it. Prints JSON, one object a line, as verify.py does: `{"engine": version}`, and
at the end either `{"result": …}`, `{"missing": why}` if the runtime is not installed, or `{"error": why, "model": "a" or "b"}`. A result of `seconds` tells how long an invocation takes, in both.
"""

import subprocess
import time


def slid(before, value, hop):
    """An input of which only the last `hop` rows are new, and these."""
    new = value[:, -hop:]
    return numpy.concatenate([before[:, hop:], new], axis=1), new


def interpreted(path, runs, seed, hop):
    """Inputs as bytes, outputs as arrays, and seconds, of every invocation."""
    from tflite_micro import runtime
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema

    with open(path, "rb") as file:
        model = file.read()
    graph = schema.Model.GetRootAs(model, 0).Subgraphs(0)
    names = [graph.Tensors(graph.Outputs(index)).Name() or b"" for index in range(graph.OutputsLength())]
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=256 << 20)
    generator = numpy.random.default_rng(seed)
    given, made, seconds, before = [], [], [], None
    for _ in range(2 * runs):
        for index in range(graph.InputsLength()):
            details = interpreter.get_input_details(index)
            wanted = {"name": index, "dtype": details["dtype"], "shape": [int(extent) for extent in details["shape"]]}
            value = new = random_value(wanted, generator)
            if hop and before is not None:
                value, new = slid(before, value, hop)
            before = value
            interpreter.set_input(value, index)
            given.append(numpy.ascontiguousarray(new).tobytes())
        started = time.perf_counter()
        interpreter.invoke()
        seconds.append(time.perf_counter() - started)
        made.append([numpy.ascontiguousarray(interpreter.get_output(index)).copy() for index in range(graph.OutputsLength())])
    return b"".join(given), made, min(seconds), [name.decode("utf-8", "replace") for name in names]


def compared(expected, answer, names):
    outputs = [Comparison(name) for name in names]
    first, place = None, 0
    for invocation, arrays in enumerate(expected):
        for output, array in zip(outputs, arrays):
            found = numpy.frombuffer(answer[place : place + array.nbytes], array.dtype).reshape(array.shape)
            place += array.nbytes
            output.add(array, found)
        if first is None and not all(output.equal for output in outputs):
            first = {"run": invocation // 2, "invocation": invocation % 2}
    return {"signature": [], "outputs": [output.as_json() for output in outputs], "first_difference": first}


def main():
    path, runs, seed, hop, program = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
    global numpy
    try:
        import importlib.metadata

        import numpy
        import tflite_micro  # noqa: F401

        version = importlib.metadata.version("tflite-micro")
    except Exception as error:
        report(missing=f"tflite_micro: {error}")
        return
    report(engine=f"tflite_micro {version}")
    try:
        given, expected, seconds, names = interpreted(path, runs, seed, hop)
    except Exception as error:
        report(error=str(error), model="a")
        return
    ran = subprocess.run(program, input=given, capture_output=True)
    size = sum(array.nbytes for arrays in expected for array in arrays)
    if ran.returncode != 0 or len(ran.stdout) != size:
        said = ran.stderr.decode("utf-8", "replace").strip()[-2000:]
        report(error=f"it ended with {ran.returncode} after {len(ran.stdout)} of {size} bytes: {said}", model="b")
        return
    result = compared(expected, ran.stdout, names)
    result["seconds"] = seconds
    report(result=result)


main()
