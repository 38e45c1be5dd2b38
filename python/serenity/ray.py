"""Many graphs on a Ray cluster. Needs Ray: ``pip install serenity-ml[ray]``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from . import _options
from ._errors import Error, RuntimeFailure, extra
from ._graph import Graph
from ._load import Source
from ._optimize import _read
from ._optimize import optimize_many as _optimize_many
from ._result import Result

if TYPE_CHECKING:
    from typing_extensions import Unpack

with extra("ray"):
    import ray

#: Graphs that travel together: enough that sending them costs nothing beside optimising them, and few enough that little is done again when a worker is lost.
LARGEST_BATCH = 64


@_options.listed()
def optimize_many(
    sources: Iterable[Source],
    *,
    batch: Optional[int] = None,
    retries: int = 5,
    errors: str = "return",
    progress: Optional[Callable[[int, int], object]] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
    **options: Unpack[_options.Options],
) -> list[Union[Result, Error]]:
    """Optimise many models on all machines of the Ray cluster that this process is connected to (``ray.init``); without one, Ray starts on this machine.

    This process reads the files, so that the other machines need not have them. If the worker of a batch dies, another one does the batch again.

    :param batch: how many models travel together
    :param retries: how often a batch is done again; models that are lost even so have a :class:`serenity.RuntimeFailure` in their place
    :param progress: called as ``progress(done, total)`` whenever a batch is done; if you give none and standard error is a terminal, a line there tells

    All other options are those of :func:`serenity.optimize_many`.
    """
    if errors not in ("return", "raise"):
        raise ValueError(f"errors must be 'return' or 'raise', not {errors!r}")
    _options.whole(retries, "retries", least=0)
    _options.wishes(**options)  # Wrong options are told here, not once per graph on every machine.
    results: list[Any] = [_read(source, options.get("runtime"), shapes) for source in _options.several(sources)]
    positions = [position for position, one in enumerate(results) if isinstance(one, Graph)]
    total, done = len(results), len(results) - len(positions)
    tell = progress or (_show if sys.stderr.isatty() else None)
    if not ray.is_initialized():
        ray.init(log_to_driver=False, include_dashboard=False)
    cores = int(ray.cluster_resources().get("CPU", 1)) or 1
    size = batch or max(1, min(LARGEST_BATCH, len(positions) // (4 * cores) or 1))
    work = ray.remote(num_cpus=1, max_retries=retries)(_work)
    waiting = {}
    for begin in range(0, len(positions), size):
        chosen = positions[begin : begin + size]
        waiting[work.remote([results[position] for position in chosen], options)] = chosen
    try:
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for reference in ready:
                chosen = waiting.pop(reference)
                for position, result in zip(chosen, _collect(reference, len(chosen))):
                    results[position] = result
                done += len(chosen)
                if tell is not None:
                    tell(done, total)
    finally:
        for reference in waiting:
            ray.cancel(reference, force=True)
    if errors == "raise":
        for result in results:
            if isinstance(result, Error):
                raise result
    return results


def _work(graphs: list[Graph], options: _options.Options) -> list[Any]:
    return _optimize_many(graphs, workers=1, **options)


def _collect(reference: Any, count: int) -> list[Any]:
    try:
        return ray.get(reference)
    except ray.exceptions.RayError as error:
        lost = RuntimeFailure(
            f"the cluster lost these {count} graphs: {str(error).strip().splitlines()[0]}",
            "runtime",
            "raise retries, or look at the logs of Ray",
        )
        return [lost] * count


def _show(done: int, total: int) -> None:
    sys.stderr.write(f"\r{done:,} of {total:,} graphs" + ("\n" if done == total else ""))
    sys.stderr.flush()
