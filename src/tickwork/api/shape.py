"""How many values a JSON text holds and how deep they are nested, told from its bytes: a few bytes can become
objects that take a hundred times as much, so this is asked before anything is made of them.

All is done on slices, by calls that take a millisecond or so each: other threads run in between.
"""

from collections.abc import Iterator

from tickwork.model.storable import ALL_ONE_KIND, pairs_nest_deeper

_SLICE = 64 * 1024
_GLANCE = 1024 * 1024
_NO_STRUCTURE = bytes(set(range(256)).difference(b"[]{},"))

Text = bytes | bytearray


class TooManyValues(Exception):
    pass


def nests_deeper(text: Text, deepest: int, most_values: int) -> bool:
    """Whether it is nested deeper than that; TooManyValues if it holds more than so many.

    Commas and opening brackets count as values: there are never more. What stands between quotes counts for nothing.
    Of a text that is not JSON the part before the mistake is told right, and nobody makes anything of the rest."""
    if _seems_harmless(text, most_values, deepest):
        return False
    values = 0
    brackets: list[bytes] = []
    for structure in _structure(text):
        values += structure.count(b",") + structure.count(b"{")
        if values > most_values:
            raise TooManyValues
        brackets.append(structure.translate(None, b","))
    return pairs_nest_deeper(b"".join(brackets), deepest)


def _seems_harmless(text: Text, most_values: int, deepest: int) -> bool:
    """Seen at a glance, with what stands in quotes counted too."""
    if len(text) > _GLANCE:
        return False
    structure = text.translate(ALL_ONE_KIND, _NO_STRUCTURE)
    return len(structure) <= most_values and not pairs_nest_deeper(structure.translate(None, b","), deepest)


def _structure(text: Text) -> Iterator[bytes]:
    """The commas and brackets outside of quotes, slice by slice."""
    in_quotes = False
    for piece in _slices(text):
        parts = piece.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        yield b"".join(parts[in_quotes::2]).translate(ALL_ONE_KIND, _NO_STRUCTURE)
        in_quotes ^= len(parts) % 2 == 0


def _slices(text: Text) -> Iterator[bytes]:
    """None ends between a backslash and what it escapes."""
    start = 0
    while start < len(text):
        end = start + _SLICE
        piece = bytes(text[start:end])
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            end += 1
            piece = bytes(text[start:end])
        yield piece
        start = end
