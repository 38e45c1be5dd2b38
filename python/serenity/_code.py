"""Models as C."""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Optional, Union

from . import _options, _serenity, _write
from ._computed import filled
from ._load import Source, as_graph
from ._optimize import Progress, _wishes


class Code(NamedTuple):
    """A model as C that runs without an interpreter: the text of each file by its name, and what the code takes in bytes.

    ``ram`` is all static memory: ``arena``, in which the tensors lie, and ``state``, which is kept from one run to the next.
    ``flash`` counts constants, without the code itself. All names in the code begin with ``prefix``. ``fits`` is ``None`` without a budget.
    """

    name: str
    prefix: str
    ram: int
    arena: int
    state: int
    flash: int
    steps: int
    fits: Optional[bool]
    files: dict[str, str]

    def save(self, folder: Union[str, os.PathLike[str]]) -> None:
        """Write the files into a folder, which is made if there is none."""
        _write.folder(folder, self.files)

    def __repr__(self) -> str:
        """One line."""
        return f"<serenity.Code {self.name!r}: {', '.join(self.files)}; {self.ram:,} bytes of RAM, {self.flash:,} of constants>"


def emit_c(
    source: Source,
    *,
    name: Optional[str] = None,
    kernels: Optional[str] = None,
    budget: Optional[_options.Size] = None,
    rewrite: Optional[str] = None,
    loops: bool = False,
    max_extra_macs: Optional[float] = None,
    int8_io: bool = False,
    reorder: bool = True,
    algorithm: Optional[str] = None,
    threads: int = 1,
    time_limit: Optional[float] = 300.0,
    memory_limit: _options.Size = "4GiB",
    effort: int = 1,
    progress: Optional[Progress] = None,
) -> Code:
    """Make C code of a ``.tflite`` model, as the command ``serenity emit c`` does.

    :param source: a path, bytes or a :class:`Graph`, as for :func:`load`
    :param name: what all names in the code begin with; if you give none, the name of the file
    :param kernels: ``emitted`` for kernels of our own, ``cmsis-nn`` or ``cmsis-nn-mve`` for calls into that library
    :param budget: bytes, or text such as ``"64KiB"``; the answer says whether the static memory is within it, and loops are made only if they are needed

    All other options are those of :func:`optimize`.
    """
    wishes = _wishes(
        kernels=kernels,
        budget=budget,
        rewrite=rewrite,
        loops=loops,
        max_extra_macs=max_extra_macs,
        int8_io=int8_io,
        reorder=reorder,
        algorithm=algorithm,
        threads=threads,
        time_limit=time_limit,
        memory_limit=memory_limit,
        effort=effort,
    )
    graph, tell = as_graph(source), _options.callback(progress)
    text, files = _serenity.emit_c(graph._model, _options.text(name, "name"), wishes, tell)
    stated = json.loads(text)
    fits = None if wishes["budget"] is None else stated["ram"] <= wishes["budget"]
    return filled(Code, stated, name=graph.name, files=dict(files), fits=fits)
