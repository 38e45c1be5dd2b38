"""All ways to run a model in the memory of a device."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Optional, Union

from . import _html, _options, _serenity, _write
from ._computed import Computed, filled
from ._errors import BudgetError, InputError, extra
from ._load import Source, as_graph

if TYPE_CHECKING:
    import pandas


class Way(NamedTuple):
    """One way to run a model. If it is not possible, ``not_possible`` says why, and all figures are ``None``.

    ``need`` is the memory in bytes that the device must have, and ``margin`` what to add because builds of TFLM differ.
    ``extra_macs``, ``extra_time`` (a share, estimated) and ``extra_flash`` (bytes) compare with the model as it came;
    ``instructions`` of a run on a Cortex-M4 are an estimate too, and ``None`` where the kernels were not measured.
    ``asks`` lists what the application must do, and ``command`` makes the model in a shell.
    """

    name: str
    changes: list[str]
    kernels: Optional[str]
    need: Optional[int]
    margin: Optional[int]
    fits: Optional[bool]
    extra_macs: Optional[int]
    instructions: Optional[int]
    extra_time: Optional[float]
    extra_flash: Optional[int]
    proved: Optional[bool]
    asks: list[str]
    command: Optional[str]
    not_possible: Optional[str]


class Fit(Computed):
    """The ways to run a model, from the one that asks least of the application to the one that asks most.

    A fit can be pickled; it then keeps the files that :meth:`save` can write.
    """

    _COMPUTE = {
        "stated": lambda found: json.loads(found.to_json()),
        "summary": lambda found: found.summary().rstrip(),
        "format": lambda found: found.format,
        "model": lambda found: found.to_bytes(),
        "graph": lambda found: found.to_graph(),
        "code": lambda found: found.code(),
    }

    @property
    def runtime(self) -> str:
        """The memory model that all figures speak of."""
        return self._get("stated")["runtime"]

    @property
    def budget(self) -> int:
        """The memory of the device, in bytes."""
        return self._get("stated")["budget"]

    @property
    def fits(self) -> bool:
        """Does the model fit in one of the ways?"""
        return self._get("stated")["fits"]

    @property
    def ways(self) -> list[Way]:
        """All ways that are permitted."""
        return [filled(Way, fields) for fields in self._get("stated")["ways"]]

    @property
    def chosen(self) -> Optional[Way]:
        """The first way that fits; ``None`` if none does."""
        index = self._get("stated")["chosen"]
        return None if index is None else self.ways[index]

    @property
    def advice(self) -> list[str]:
        """If nothing fits: the least that the model needs, what sets it, and which change of the model would help."""
        return self._get("stated")["advice"]

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the first model that fits; or, into a folder, the first C code that fits.

        A folder is a path with a ``/`` at its end, a folder that exists, or, if the chosen way is C code, a name without an extension.

        :raises BudgetError: if no way fits
        :raises ValueError: if only ways of the other kind fit
        """
        target = os.fspath(path)
        is_folder = target.endswith(("/", os.sep)) or os.path.isdir(target)
        has_extension = bool(os.path.splitext(target)[1])
        if is_folder or (not has_extension and self.chosen is not None and "c" in self.chosen.changes):
            code = self._get("code")
            if code is None:
                raise self._nothing(target, f"as a model: end the path in .{self._get('format')}")
            _write.folder(target, dict(code))
            return
        is_graph_alone = _write.is_graph_alone(target, self._get("format"))
        content = self._get("graph").encode() if is_graph_alone and self._get("graph") else self._get("model")
        if content is None:
            raise self._nothing(target, "as C code: end the path in /")
        if self._found is not None and not is_graph_alone:
            self._found.check_side_files(target)
        _write.atomically(target, content)

    def _nothing(self, target: str, other_kind: str) -> Union[BudgetError, InputError]:
        message = f"cannot write `{target}`: the model"
        if self.fits:
            return InputError(f"{message} fits {self.budget:,} bytes only {other_kind}")
        error = BudgetError(f"{message} does not fit {self.budget:,} bytes in any way", "room", " ".join(self.advice))
        needs = [way.need + (way.margin or 0) for way in self.ways if way.need is not None]
        error.needed = min(needs, default=0)
        error.missing = max(0, error.needed - self.budget)
        return error

    def to_pandas(self) -> pandas.DataFrame:
        """One row per way."""
        with extra("pandas"):
            import pandas

        return pandas.DataFrame(self.ways, columns=list(Way._fields))

    def summary(self) -> str:
        """The table that ``serenity fit`` prints."""
        return self._get("summary")

    def __repr__(self) -> str:
        """The table that ``serenity fit`` prints."""
        return self.summary()

    def _repr_html_(self) -> str:
        return _html.card(_html.pre(self.summary()))


def fit(
    source: Source,
    budget: _options.Size,
    *,
    runtime: Optional[str] = None,
    kernels: Optional[str] = None,
    allow: Union[str, Iterable[str], None] = None,
    forbid: Union[str, Iterable[str], None] = None,
    hop: Optional[int] = None,
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
    progress: Optional[Callable[[int, float], object]] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
) -> Fit:
    """Try all ways to run a model in the memory of a device, as the command ``serenity fit`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param budget: the memory of the device: bytes, or text such as ``"256KiB"``
    :param runtime: as for :func:`optimize`
    :param kernels: the kernels that TFLM is built with; if you name them, no others are tried
    :param allow: the only changes to make, with those that they are made of, among ``plan``, ``rewrites``, ``kernels``, ``loops``, ``int8-io``, ``c`` and ``stream``; all if you name none
    :param forbid: changes not to make
    :param hop: for an application that looks at windows over time: the next window ends so many rows of the input later; adds the ways that compute once what windows have in common
    :param time_limit: seconds after which each search returns its best so far; ``None`` for no limit
    :param memory_limit: bytes for the tables of the search
    :param effort: how many times the usual work to do
    :param progress: called now and then as ``progress(ways, seconds)`` with the number of ways that were tried
    :param shapes: as for :func:`load`
    """
    typed = budget.replace(" ", "") if isinstance(budget, str) else str(_options.size(budget, "budget"))
    wishes = _options.wishes(
        runtime=runtime,
        kernels=kernels,
        budget=budget,
        time_limit=time_limit,
        memory_limit=memory_limit,
        effort=effort,
    )
    allowed, forbidden = _names(allow or (), "allow"), _names(forbid or (), "forbid")
    rows = None if hop is None else _options.whole(hop, "hop")
    graph, reading = as_graph(source, runtime, shapes), _options.reading(runtime, shapes, False)
    tell = _options.callback(progress)
    return Fit(_serenity.fit(graph._model, wishes, typed, reading, allowed, forbidden, rows, tell), graph.name)


def _names(changes: Any, name: str) -> list[str]:
    listed = changes.split(",") if isinstance(changes, str) else list(changes)
    return [_options.text(change, f"each of {name}") for change in listed]
