"""What comes out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _html, _options, _serenity, _write
from ._computed import Computed
from ._errors import Error, InputError, extra
from ._graph import Graph

if TYPE_CHECKING:
    import pandas


class Footprint(NamedTuple):
    """What running a model takes: the peak of activation memory, the arena of the runtime (if it has one), and operators."""

    peak: int
    arena: Optional[int]
    ops: int

    @property
    def needs(self) -> int:
        """What counts: the arena where it is known, otherwise the peak."""
        return self.peak if self.arena is None else self.arena


class Step(NamedTuple):
    """An operator as it runs: its position in the model, and the bytes in use while it runs and after."""

    op: int
    name: str
    type: str
    during: int
    after: int


class Result(Computed):
    """What became of a model: an order with its proof, and the model to run.

    Everything is plain data, computed when it is asked for; a result can be pickled, compared with ``==`` by its plan, and sent to other processes.
    """

    def __eq__(self, other: object) -> bool:
        """The same plan, however long it took to find."""
        if not isinstance(other, Result):
            return NotImplemented
        return {**self.plan, "seconds": 0} == {**other.plan, "seconds": 0}

    __hash__ = None  # type: ignore[assignment]

    @property
    def plan(self) -> dict[str, Any]:
        """All of it, as ``serenity optimize --json`` prints it (docs/FORMATS.md)."""
        return self._get("plan")

    @property
    def runtime(self) -> str:
        """The memory model that all figures speak of."""
        return self.plan["runtime"]

    @property
    def order(self) -> list[int]:
        """The operators in the order in which they run, by their position in :attr:`graph`."""
        return self.plan["order"]

    @property
    def peak(self) -> int:
        """The most activation memory in use at any time, in bytes. What a loop hands on from one round to the next lies in the same bytes and counts once."""
        return self._found.peak if self._found is not None else self.plan["peak"]

    @property
    def arena(self) -> Optional[int]:
        """The arena of the runtime in bytes; ``None`` where the memory model stands for no runtime that has one."""
        return self.plan["arena"]

    @property
    def bound(self) -> Optional[int]:
        """No other decision needs less than this: of the arena where there is one, otherwise at the peak.

        With loops it is a floor: the largest tensor or all inputs together, whichever is more. ``None`` if not even that is known.
        """
        bound = self._found.bound if self._found is not None else self.plan["bound"]
        return bound if bound or not self.plan["loops"] else None

    @property
    def proof(self) -> str:
        """``optimal`` or ``gap``."""
        return "optimal" if self.is_optimal else "gap"

    @property
    def is_optimal(self) -> bool:
        """Is it proved that nothing needs less?"""
        return self._found.is_optimal if self._found is not None else self.plan["proof"] == "optimal"

    @property
    def stopped(self) -> Optional[str]:
        """Why it is not proved, in words."""
        return self.plan["stopped"]

    @property
    def offsets(self) -> Optional[list[list[Optional[int]]]]:
        """Where each tensor lies in the arena, by graph and tensor, if that was planned (TFLM). For other graphs see :func:`serenity.place`."""
        return self.plan["offsets"]

    @property
    def _counts_everything(self) -> bool:
        """Does every figure count all there is? If not, they are what is needed at least."""
        return all(unknown["kind"] == "order" for unknown in self.plan["unknown"])

    def _in_words(self, needs: int, width: int = 0) -> str:
        """A figure; where not everything is counted it is a lower bound, and none at all is no figure."""
        if self._counts_everything:
            return f"{needs:>{width},} bytes"
        return f"{needs:>{width},} bytes at least" if needs else f"{'unknown':>{width}}"

    @property
    def before(self) -> Footprint:
        """What the model needed as it came."""
        return _footprint(self.plan["before"])

    @property
    def after(self) -> Footprint:
        """What it needs now."""
        return _footprint(self.plan["after"])

    @property
    def needs(self) -> int:
        """What must fit a device: for TFLM the whole arena on a 32-bit one, otherwise what counts for the memory model."""
        return self.plan["needs"]

    @property
    def fits(self) -> Optional[bool]:
        """Is the budget kept? ``None`` without a budget."""
        return self.plan["fits"]

    @property
    def missing(self) -> Optional[int]:
        """Bytes that are missing to the budget; ``None`` without a budget, or if not all is known."""
        return self.plan["missing"]

    @property
    def hop(self) -> Optional[dict[str, int]]:
        """For windows over time: the new ``rows`` of a run, its ``macs``, the ``window_macs`` of a whole window, the bytes ``carried`` from run to run, and the runs until the ``first`` window is full. Otherwise ``None``."""
        return self.plan.get("hop")

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.plan["seconds"]

    @property
    def steps(self) -> list[Step]:
        """The operators as they run."""
        return [Step(*fields) for fields in self._get("steps")]

    @property
    def graph(self) -> Graph:
        """The graph with its operators in the order of the file to run: rewritten, if the plan says so."""
        reading = _options.reading(None, None, False)
        return Graph(_serenity.read(self.name, self._get("graph").encode(), "json", reading))

    def to_bytes(self) -> bytes:
        """The model to run, in the format it came in; for a graph without weights the JSON graph."""
        content = self._get("model")
        if isinstance(content, Exception):
            raise content
        return self._get("graph").encode() if content is None else content

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the model to run. The name ends as that of the input did, or in ``.json`` for the graph alone."""
        target = os.fspath(path)
        if _write.is_graph_alone(target, self._get("format")):
            content = self._get("graph").encode()
        else:
            if self._found is not None:
                self._found.check_side_files(target)
            content = self.to_bytes()
        _write.atomically(target, content)

    def save_plan(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the plan, which ``serenity check`` and :func:`serenity.check` read."""
        self._check_whole("plan")
        _write.atomically(path, self._get("plan_text").encode())

    def report(self, path: Union[str, os.PathLike[str]]) -> None:
        """Write the page that ``serenity report`` writes: one HTML file with pictures of memory, arena and network, before and after."""
        self._check_whole("page")
        if self._found is None:
            raise InputError(
                "a result that comes from another process has no page",
                help="optimise the model in this one, or use the command `serenity report`",
            )
        _write.atomically(path, self._found.page().encode())

    def _check_whole(self, what: str) -> None:
        """Plan and page compare with the model as it came, which takes whole windows."""
        if self.hop is not None:
            raise ValueError(f"hop: a model for windows over time has no {what} of its own; save the model alone")

    def to_pandas(self) -> pandas.DataFrame:
        """One row per operator, in the order in which they run."""
        with extra("pandas"):
            import pandas

        return pandas.DataFrame(self.steps, columns=list(Step._fields))

    def summary(self) -> str:
        """What was gained and what is proved, for people."""
        plan, before, after = self.plan, self.before, self.after
        kernels = f", kernels `{plan['kernels']}`" if plan["kernels"] else ""
        rewritten = f", {len(plan['rewrites'])} rewritten" if plan["rewrites"] else ""
        looped = f", {len(plan['loops']['windows'])} loops" if plan["loops"] else ""
        what = "peak" if after.arena is None else "arena"
        lines = [f"{self.name}: {before.ops} ops{rewritten}{looped}, memory model `{self.runtime}`{kernels}"]
        # Figures that do not count everything say nothing of what was saved.
        is_less = self._counts_everything and 0 < after.needs < before.needs
        saved = f"   {before.needs / after.needs:.2f}x less" if is_less else ""
        lines.append(f"  {what} before {self._in_words(before.needs, 14)}")
        lines.append(f"  {what} after  {self._in_words(after.needs, 14)}{saved}")
        settled = [decision for decision, one in plan["proofs"].items() if one["proof"] == "optimal"]
        unsettled = [decision for decision in plan["proofs"] if decision not in settled]
        if not unsettled:
            proved = "proved optimal"
        elif settled:
            proved = f"{' and '.join(settled)} proved, {' and '.join(unsettled)} not: {self.stopped}"
        else:
            proved = f"not proved: {self.stopped}"
        bound = "" if self.bound is None else f"{'bound':<{len(what) + 8}}{self.bound:>14,} bytes   "
        lines.append(f"  {bound}{proved}")
        if plan["budget"] is not None:
            verdict = (
                "fits"
                if self.fits
                else "does not fit"
                if self.missing is None
                else f"{self.missing:,} bytes are missing"
            )
            lines.append(f"  {'budget':<{len(what) + 8}}{plan['budget']:>14,} bytes   {self.needs:,} needed: {verdict}")
        refused = plan["unsupported"]
        if refused:
            more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
            lines.append(f"  TFLM cannot run it: `{refused[0]['name']}`: {refused[0]['reason']}{more}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        """One line."""
        was = f" (was {self.before.needs:,})" if self._counts_everything else ""
        return f"<serenity.Result {self.name!r}: {self._in_words(self.after.needs)}{was}, {self.proof}>"

    def chart(self) -> str:
        """Memory over time, before and after, as SVG."""
        during = [fields[3] for fields in self._get("steps")]
        return _serenity.chart(self.name, self._get("before"), during, self.plan["budget"])

    def _repr_html_(self) -> str:
        return _html.card(_html.picture(self.chart()), _html.pre(self.summary()))


def _footprint(fields: dict[str, Any]) -> Footprint:
    return Footprint(fields["peak"], fields["arena"], fields["ops"])


def _model(found: _serenity.Found) -> Any:
    try:
        return found.to_bytes()
    except Exception as error:  # Kept for whoever asks for the bytes: the plan is good without them.
        return error


Result._COMPUTE = {
    "plan": lambda found: json.loads(found.to_json()),
    "plan_text": lambda found: found.plan_text(),
    "steps": lambda found: found.steps(),
    "before": lambda found: found.before(),
    "graph": lambda found: found.to_graph(),
    "format": lambda found: found.format,
    "model": _model,
}


def to_pandas(results: Iterable[Union[Result, Error]]) -> pandas.DataFrame:
    """The results of :func:`optimize_many` as a table: one row per model.

    ``before``, ``after`` and ``bound`` are bytes, of the arena where there is one and otherwise of the peak. A model that failed has its message in ``error``, and no figures.
    """
    with extra("pandas"):
        import pandas

    return pandas.DataFrame([_row(result) for result in results], columns=_COLUMNS)


_COLUMNS = ["name", "ops", "before", "after", "bound", "proof", "fits", "seconds", "error"]


def _row(result: Union[Result, Error]) -> dict[str, Any]:
    if isinstance(result, Error):
        return {"name": result.source, "error": result.message}
    return {
        "name": result.name,
        "ops": result.before.ops,
        "before": result.before.needs,
        "after": result.after.needs,
        "bound": result.bound,
        "proof": result.proof,
        "fits": result.fits,
        "seconds": result.seconds,
    }
