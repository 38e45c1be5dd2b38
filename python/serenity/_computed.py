"""Answers whose parts are computed when they are asked for."""

from __future__ import annotations

from typing import Any, Callable, ClassVar


def filled(kind: Any, fields: dict[str, Any], **others: Any) -> Any:
    """A named tuple of the fields of an answer, of which ``others`` replace some."""
    given = {**fields, **others}
    return kind(**{name: given[name] for name in kind._fields})


class Computed:
    """An answer of the compiled part. Pickled, it is plain data."""

    #: How each part is computed.
    _COMPUTE: ClassVar[dict[str, Callable[[Any], Any]]] = {}

    def __init__(self, found: Any, name: str):
        """For the functions of this package."""
        self._found: Any = found
        self._state: dict[str, Any] = {"name": name}

    def _get(self, key: str) -> Any:
        if key not in self._state:
            assert self._found is not None
            self._state[key] = self._COMPUTE[key](self._found)
        return self._state[key]

    def __getstate__(self) -> dict[str, Any]:
        """Everything as plain data."""
        for key in self._COMPUTE:
            self._get(key)
        return {"_state": self._state, "_found": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As it was."""
        self.__dict__.update(state)

    @property
    def name(self) -> str:
        """What the model was read from, or its name."""
        return self._get("name")
