"""What the judges share: inputs, hashes, and a child process that may crash on a model."""

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import tempfile

import numpy

INVOCATIONS_A_RUN = 2  # Clobbered inputs and wrong state show in the second.


class Refused(Exception):
    """The runtime does not take the model."""


def random_input(shape, dtype, generator):
    """Values that exercise a tensor: the whole range of small types, small numbers where they may be indices."""
    dtype = numpy.dtype(dtype)
    shape = [int(extent) for extent in shape]
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype == numpy.bool_:
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize <= 2:
        limits = numpy.iinfo(dtype)
        return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 4, shape).astype(dtype)
    raise Refused(f"no inputs can be made of type {dtype}")


def fingerprint(arrays):
    """A hash of types, shapes and every bit."""
    digest = hashlib.sha256()
    for array in arrays:
        array = numpy.asarray(array)
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(repr(array.tolist()).encode() if array.dtype == object else array.tobytes())
    return digest.hexdigest()


def fingerprints(run, options):
    """The fingerprints of `run(generator)`, called several times in a row; `run` draws new inputs each time."""
    generator = numpy.random.default_rng(options.seed)
    return [fingerprint(run(generator)) for _ in range(INVOCATIONS_A_RUN * options.runs)]


def main(description, judge, add_options=lambda parser: None):
    """Prints a JSON object a line for every model: what `judge(path, options, log)` finds, or `refused` and why."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--runs", type=int, default=1, help="random inputs, each invoked twice in a row; 0 to allocate only (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="of the random inputs (default 1)")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds a model (default 120)")
    add_options(parser)
    options = parser.parse_args()
    child = None
    for position, model in enumerate(options.models):
        child = child or _Child(judge, options)
        answer = child.ask(position, model)
        print(json.dumps({"model": model, **answer}), flush=True)
        if not child.is_alive:
            child = None


class _Child:
    """Judges one model after the other until a runtime crashes or does not answer. Forked, so that the runtime is imported once."""

    def __init__(self, judge, options):
        context = multiprocessing.get_context("fork")
        self.time_limit = options.time_limit
        self.log = tempfile.TemporaryFile()
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=_answer_all, args=(judge, options, self.log, end), daemon=True)
        self.process.start()
        end.close()
        self.is_alive = True

    def ask(self, position, model):
        self.log.seek(0)
        self.log.truncate()
        self.pipe.send((position, model))
        try:
            answer = self.pipe.recv() if self.pipe.poll(self.time_limit) else self._late()
        except EOFError:
            answer = self._crashed()
        for verdict in answer.keys() & {"refused", "failed"}:
            answer[verdict] += _last_words(self.log)
        return answer

    def _late(self):
        self.process.kill()
        self.is_alive = False
        return {"refused": f"no answer within {self.time_limit:g} s"}

    def _crashed(self):
        self.process.join()
        self.is_alive = False
        code = self.process.exitcode
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return {"refused": f"the runtime crashed: {how}", "crashed": True}


def _answer_all(judge, options, log, pipe):
    # Runtimes write to the file descriptors, past Python.
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    # Ends when the parent kills it, because some runtimes crash in the destructors at the end of a program.
    while True:
        options.position, model = pipe.recv()
        try:
            answer = judge(model, options, log)
        except Exception as error:  # Whatever a runtime raises is its refusal.
            answer = {"refused": f"{type(error).__name__}: {error}"}
        pipe.send(answer)


def _last_words(log):
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").strip().splitlines()
    return " | ".join(["", *lines[-4:]])[:800]
