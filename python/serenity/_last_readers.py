"""Proves that no choice of last readers needs less.

Where several steps read a piece of memory and some of them could write their result over it, the order decides which does: only the last can. A bound that lets each of them do so is low. To raise it, all
choices are looked at: one of the steps is the last and all others run before it, or none of them writes over it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Callable

#: A pair (created, read) of a step, of which the one may take the place of the other.
Pair = tuple[Hashable, Hashable]

#: A bound for orders without some of the pairs, in which some steps (second, first) keep their order; ``None`` if there are no such orders.
Bound = Callable[[Sequence[Pair], Sequence[tuple[int, int]]], Any]


def raise_bound(
    bound: Bound,
    choices: Mapping[Hashable, Sequence[tuple[int, Pair]]],
    readers: Mapping[Hashable, Sequence[int]],
    height: int,
    low: int,
    most: int = 48,
) -> int:
    """A bound for all choices: ``height`` if none needs less than that, otherwise ``low``. Asks for at most ``most`` bounds."""
    pairs = {piece: [pair for _, pair in steps] for piece, steps in choices.items()}
    left = most

    def asked(without: Sequence[Pair], after: Sequence[tuple[int, int]] = ()) -> Any:
        nonlocal left
        left -= 1
        return bound(without, after)

    if len(choices) > most // 2 or asked([pair for piece in pairs for pair in pairs[piece]]) < height:
        return low
    # Few pieces matter: those that must not be free for all to keep the bound up.
    matter = list(choices)
    for piece in sorted(choices, key=lambda piece: -len(choices[piece])):
        others = [other for other in matter if other != piece]
        if asked([pair for other in others for pair in pairs[other]]) >= height:
            matter = others

    def none_needs_less(pieces: Sequence[Hashable], without: list[Pair], after: list[tuple[int, int]]) -> bool:
        if left <= 0:
            return False
        found = asked(without, after)
        if found is None or found >= height:
            return True
        if not pieces:
            return False
        piece, rest = pieces[0], pieces[1:]
        if not none_needs_less(rest, without + pairs[piece], after):
            return False
        for step, pair in choices[piece]:
            dropped = [other for other in pairs[piece] if other != pair]
            before = [(step, reader) for reader in readers[piece] if reader != step]
            if not none_needs_less(rest, without + dropped, after + before):
                return False
        return True

    return height if none_needs_less(matter, [], []) else low
