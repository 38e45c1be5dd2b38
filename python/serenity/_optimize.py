"""Optimising models: one, or many."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _options, _serenity
from ._errors import Error
from ._graph import Graph
from ._load import Source, as_graph
from ._result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

Progress = Callable[[int, int, int, float], object]


@_options.listed()
def optimize(
    source: Source,
    *,
    hop: Optional[int] = None,
    progress: Optional[Progress] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
    **options: Unpack[_options.Options],
) -> Result:
    """Make a model need the least memory, as the command ``serenity optimize`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param runtime: ``plain``, ``paper``, ``tflm``, ``litert`` or ``ort``; if nothing is said, what fits the model
    :param kernels: the kernels that TFLM is built with: ``any``, ``reference``, ``cmsis-nn``, ...
    :param budget: bytes, or text such as ``"250KB"``; the result says whether it fits
    :param rewrite: ``none``, ``constant-channels``, ``exact`` or ``all``
    :param loops: compute the widest parts a few rows at a time (TFLM); at most ``max_extra_macs`` (a share, 0.1 if nothing is said) more multiplications
    :param int8_io: let a ``.tflite`` model take and give the whole numbers that it works with
    :param reorder: ``False`` keeps the model's own order
    :param plan: ``False`` leaves the placement to TFLM
    :param algorithm: how to find the order: ``exact``, ``dp``, ``dp+dc``, ``dp+asb``, ``dp+dc+asb``, ``greedy``, ``dfs``, ``kahn``, ``file``
    :param threads: for the exact engine; the answer does not depend on it
    :param ort_order: ``priority`` or ``default``, for ONNX Runtime
    :param ort_session: ``fast`` or ``plain``, for ONNX Runtime; a fast one asks the onnxruntime of this interpreter
    :param time_limit: seconds after which the best so far is returned; ``None`` for no limit
    :param memory_limit: bytes for the tables of the search
    :param effort: how many times the usual work to do
    :param hop: for a ``.tflite`` on TFLM that runs on windows over time: the model takes so many new rows of the window in each run and carries the others itself; :attr:`Result.hop` says what a run takes
    :param progress: called now and then as ``progress(best, bound, states, seconds)``; what it raises ends the search and is raised
    :param shapes: as for :func:`load`

    Other threads run while it searches. Ctrl-C ends the search, and the best so far is returned; it is then not called proved, and ``stopped`` says why.
    """
    wishes = _options.wishes(**options)
    rows = None if hop is None else _options.whole(hop, "hop")
    graph = as_graph(source, options.get("runtime"), shapes)
    return Result(_serenity.optimize(graph._model, wishes, rows, _options.callback(progress)), graph.name)


@_options.listed()
def schedule(
    source: Source,
    *,
    algorithm: str = "exact",
    progress: Optional[Progress] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
    **options: Unpack[_options.Options],
) -> Result:
    """An order and nothing else, found by exactly the algorithm asked for: better or worse than the model's own. Options as for :func:`optimize`."""
    wishes = _options.wishes(algorithm=algorithm, **options)
    graph = as_graph(source, options.get("runtime"), shapes)
    return Result(_serenity.schedule(graph._model, wishes, _options.callback(progress)), graph.name)


@_options.listed()
def optimize_many(
    sources: Iterable[Source],
    *,
    workers: Optional[int] = None,
    errors: str = "return",
    progress: Optional[Callable[[int, int], object]] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
    **options: Unpack[_options.Options],
) -> list[Union[Result, Error]]:
    """Optimise many models on all cores: one result per model, in the order given.

    :param sources: paths, bytes or :class:`Graph`, as for :func:`load`
    :param workers: how many models are optimised at once; all cores if you give none. The results do not depend on it
    :param errors: ``return`` puts the exception of a model that fails in the place of its result; ``raise`` raises the first of them when all models are done
    :param progress: called now and then as ``progress(done, total)``

    All other options are those of :func:`optimize`, and apply to every model. :func:`to_pandas` makes a table of the results.
    """
    if errors not in ("return", "raise"):
        raise ValueError(f"errors must be 'return' or 'raise', not {errors!r}")
    at_once = os.cpu_count() or 1 if workers is None else _options.whole(workers, "workers")
    wishes = _options.wishes(**options)
    tell = _options.callback(progress)
    read: list[Any] = [_read(source, options.get("runtime"), shapes) for source in _options.several(sources)]
    graphs = [graph for graph in read if not isinstance(graph, Error)]
    total, failed = len(read), len(read) - len(graphs)
    models = [graph._model for graph in graphs]
    heard = None if tell is None else lambda done: tell(done + failed, total)
    found = iter(_serenity.optimize_many(models, wishes, at_once, heard))
    results = [graph if isinstance(graph, Error) else _result(next(found), graph.name) for graph in read]
    if errors == "raise":
        for result in results:
            if isinstance(result, Error):
                raise result
    return results


def _result(found: Any, name: str) -> Union[Result, Error]:
    if not isinstance(found, Error):
        return Result(found, name)
    found.source = name
    return found


def _read(
    source: Source, runtime: Optional[str], shapes: Optional[Mapping[str, _options.Shape]]
) -> Union[Graph, Error]:
    try:
        return as_graph(source, runtime, shapes)
    except Error as error:
        error.source = "bytes" if isinstance(source, (bytes, bytearray, memoryview)) else str(source)
        return error
