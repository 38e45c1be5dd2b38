"""Exceptions, with the messages of the command.

Everything that Serenity raises by itself is an :class:`Error`, and also the built-in exception that one would expect: a missing file is a ``FileNotFoundError``, a damaged one a ``ValueError``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Optional


class Error(Exception):
    """What went wrong: ``message``, ``help`` (what to do about it, if that is not plain), ``kind`` (a word for programs) and ``place`` (where in the file).

    ``source`` names the model, if it was one of many.
    """

    source: Optional[str] = None

    def __init__(self, message: str, kind: str = "request", help: Optional[str] = None, place: Optional[str] = None):
        """Say what went wrong."""
        super().__init__(message)
        self.message, self.kind, self.help, self.place = message, kind, help, place

    def __str__(self) -> str:
        """The message and, on a line of its own, the remedy."""
        return f"{self.message}\nhelp: {self.help}" if self.help else self.message

    def __reduce__(self) -> Any:
        """Pickled as they are raised: results of other processes may be exceptions."""
        return type(self), (self.message, self.kind, self.help, self.place), self.__dict__


class InputError(Error, ValueError):
    """A model, a plan or a request that makes no sense."""


class FileError(Error, OSError):
    """A file that cannot be read or written."""

    def __reduce__(self) -> Any:
        """With what the system said, which does not lie among the other attributes."""
        make, args, state = super().__reduce__()
        return make, args, {**state, "filename": self.filename, "errno": self.errno}


class MissingFileError(FileError, FileNotFoundError):
    """A file that is not there."""


class RuntimeFailure(Error, RuntimeError):
    """A runtime that is not there, or refuses the model."""


class BudgetError(Error, RuntimeError):
    """A model that does not fit. ``needed`` and ``missing`` are bytes."""

    needed: int = 0
    missing: int = 0


class InternalError(Error, RuntimeError):
    """A fault of Serenity's own."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Around imports of what comes with an extra of the package: says which, if it is not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        text = f"{error}; it comes with: pip install serenity-ml[{name}]"
        raise ModuleNotFoundError(text, name=error.name, path=error.path) from None


_CLASSES = {
    "read": FileError,
    "write": FileError,
    "runtime": RuntimeFailure,
    "limit": RuntimeFailure,
    "room": BudgetError,
    "bug": InternalError,
}
_NOT_FOUND = 2  # ENOENT, also on Windows


def make(
    kind: str, message: str, help: Optional[str], place: Optional[str], system: Optional[tuple[str, int]]
) -> Error:
    """The exception for an error of the library."""
    error_class = _CLASSES.get(kind, InputError)
    if error_class is FileError and system is not None and system[1] == _NOT_FOUND:
        error_class = MissingFileError
    error = error_class(message, kind, help, place)
    if isinstance(error, OSError) and system is not None:
        error.filename, error.errno = system[0], system[1] or None
    return error
