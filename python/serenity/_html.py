"""HTML for notebooks that is never wider than the cell it is shown in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

_SCROLL = "max-width:100%;overflow-x:auto"


def card(*parts: str) -> str:
    """One output of a cell."""
    return f"<div style='{_SCROLL}'>{''.join(parts)}</div>"


def pre(text: str) -> str:
    """Text as a terminal shows it; long lines scroll."""
    return f"<pre style='{_SCROLL}'>{html.escape(text)}</pre>"


def picture(svg: str) -> str:
    """A picture that shrinks with the cell."""
    return svg.replace("<svg ", "<svg style='max-width:100%;height:auto' ", 1)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; whole numbers are grouped and to the right."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: Any) -> str:
    if isinstance(value, int):
        return f"<td style='text-align:right'>{value:,}</td>"
    return f"<td>{html.escape(str(value))}</td>"
