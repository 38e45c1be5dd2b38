"""Models as C."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _options, _serenity, _write
from ._computed import filled
from ._load import Source, as_graph
from ._optimize import Progress

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Options that say which runtime runs the model: C code needs none.
NOT_OF_CODE = ("runtime", "plan", "ort_order", "ort_session")


class Code(NamedTuple):
    """A model as C that runs without an interpreter: the text of each file by its name, and what the code takes in bytes.

    ``ram`` is all static memory: ``arena``, in which the tensors lie, and ``state``, which is kept from one run to the next.
    ``flash`` counts constants, without the code itself. All names in the code begin with ``prefix``. ``fits`` is ``None`` without a budget.
    ``pushes`` has ``rows``, ``row_bytes``, and the multiplications of a push (``mean_macs``, ``most_macs``, ``rest_macs``) if the application pushes rows, and else ``None``. In windows over time, its ``hop`` has the ``rows`` from one window to the next and their ``macs``, and ``window_macs`` of a whole window.
    ``instructions`` of a run on a Cortex-M4 are an estimate, and ``None`` where there is none.
    """

    name: str
    prefix: str
    ram: int
    arena: int
    state: int
    flash: int
    steps: int
    instructions: Optional[int]
    pushes: Optional[dict[str, Any]]
    fits: Optional[bool]
    files: dict[str, str]

    def save(self, folder: Union[str, os.PathLike[str]]) -> None:
        """Write the files into a folder, which is made if there is none."""
        _write.folder(folder, self.files)

    def __repr__(self) -> str:
        """One line."""
        return f"<serenity.Code {self.name!r}: {', '.join(self.files)}; {self.ram:,} bytes of RAM, {self.flash:,} of constants>"


@_options.listed(without=NOT_OF_CODE)
def emit_c(
    source: Source,
    *,
    name: Optional[str] = None,
    stream: Optional[str] = None,
    hop: Optional[int] = None,
    progress: Optional[Progress] = None,
    **options: Unpack[_options.Options],
) -> Code:
    """Make C code of a ``.tflite`` model, as the command ``serenity emit c`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param name: what all names in the code begin with; if you give none, the name of the file
    :param stream: ``"rows"`` if the application pushes the rows of the input as they come; ``"time"`` if it does so without an end, and wants the outputs of the last rows again and again
    :param hop: with ``stream="time"``, rows from one window to the next; 1 if you do not say
    :param kernels: ``emitted`` for kernels of our own, ``cmsis-nn`` or ``cmsis-nn-mve`` for calls into that library
    :param budget: bytes, or text such as ``"64KiB"``; the answer says whether the static memory is within it, and loops are made only if they are needed

    All other options are those of :func:`optimize`.
    """
    wishes = _options.wishes(**options)
    graph, tell = as_graph(source), _options.callback(progress)
    if stream not in (None, "rows", "time"):
        raise ValueError(f"stream must be 'rows', 'time' or None, not {stream!r}")
    if hop is not None and stream != "time":
        raise ValueError("hop: only windows over time move by rows; say stream='time' as well")
    rows = None if hop is None else _options.whole(hop, "hop")
    text, files = _serenity.emit_c(graph._model, _options.text(name, "name"), stream, rows, wishes, tell)
    stated = json.loads(text)
    fits = None if wishes["budget"] is None else stated["ram"] <= wishes["budget"]
    return filled(Code, stated, name=graph.name, files=dict(files), fits=fits)
