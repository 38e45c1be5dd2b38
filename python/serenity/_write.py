"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from typing import Union


def atomically(path: Union[str, os.PathLike[str]], content: bytes) -> None:
    """Write to a temporary file beside the target, then rename it."""
    target = os.path.realpath(os.fspath(path))
    descriptor, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".serenity-", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
