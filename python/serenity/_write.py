"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from typing import Union

from ._errors import InputError


def atomically(path: Union[str, os.PathLike[str]], content: bytes) -> None:
    """Write to a temporary file beside the target, then rename it."""
    together({os.fspath(path): content})


def folder(path: Union[str, os.PathLike[str]], files: Mapping[str, str]) -> None:
    """Write files into a folder, which is made if there is none."""
    os.makedirs(path, exist_ok=True)
    together({os.path.join(path, name): text.encode() for name, text in files.items()})


def together(files: Mapping[str, bytes]) -> None:
    """Write several files: nothing is renamed before all are written."""
    written: list[tuple[str, str]] = []
    try:
        for path, content in files.items():
            target = os.path.realpath(path)
            descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".serenity-", suffix=".tmp")
            written.append((temporary, target))
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        while written:
            os.replace(*written[0])
            del written[0]
    except BaseException:
        for temporary, _ in written:
            os.unlink(temporary)
        raise


def is_graph_alone(path: str, format: str) -> bool:
    """Does the name of a file ask for the graph alone? If not, it must ask for a model in the format it came in."""
    extension = os.path.splitext(path)[1].lower()
    if extension not in (".json", f".{format}"):
        alone = "" if format == "json" else ", or in .json for the graph alone"
        raise InputError(
            f"cannot write `{path}`: a model is written in the format it came in",
            help=f"end the name in .{format}{alone}",
        )
    return extension == ".json"
