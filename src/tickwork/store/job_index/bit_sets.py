"""Sets of jobs within a segment of ids, as whole numbers: bit n stands for the n-th id of the segment.

Python intersects and counts 65,536 bits in a microsecond.
"""

import re
import struct
from array import array
from collections.abc import Iterable, Iterator

SEGMENT = 1 << 16  # ids
FULL = (1 << SEGMENT) - 1
_BYTES = SEGMENT // 8
_BUCKETS = 1 << 10  # so many that a row of one fits into a page
_ENTRY = 6  # bytes: four of the term, two of the id
_BLOCK = 1 << 10  # ids whose first and last time of creation is kept
_BLOCKS = SEGMENT // _BLOCK
_BLOCK_FULL = (1 << _BLOCK) - 1
_NEVER = 2**63 - 1
_FEW = 1000
_UP, _DOWN = range(8), range(7, -1, -1)
_SET_BYTE = re.compile(rb"[^\x00]")
_entry = struct.Struct("<IH")


def split(job: int) -> tuple[int, int]:
    """The segment of a job, and its place in it."""
    return divmod(job, SEGMENT)


def bits_of(places: Iterable[int]) -> int:
    buffer = bytearray(_BYTES)
    for place in places:
        buffer[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(buffer, "little")


def bits_of_runs(first: Iterable[int], last: Iterable[int]) -> int:
    """All places from the first to the last of each run."""
    digits = bytearray(b"0" * SEGMENT)
    for begin, end in zip(first, last, strict=True):
        digits[SEGMENT - 1 - end : SEGMENT - begin] = b"1" * (end - begin + 1)
    return int(digits, 2)


def up_to(place: int) -> int:
    """All places up to this one."""
    return (1 << (place + 1)) - 1


def places_of(bits: int, *, newest_first: bool) -> Iterator[int]:
    """The places in a set, in order."""
    data = encoded(bits)
    for number in _bytes_that_are_set(data, bits, newest_first):
        byte, first = data[number], number << 3
        for bit in _DOWN if newest_first else _UP:
            if byte >> bit & 1:
                yield first + bit


def _bytes_that_are_set(data: bytes, bits: int, newest_first: bool) -> Iterable[int]:
    """A set of few is searched for its bytes at once; of a large one, the first are wanted, and they come soon: what
    is empty before them is passed over."""
    if bits.bit_count() >= _FEW:
        last = bits.bit_length() - 1 >> 3
        return range(last, -1, -1) if newest_first else range((bits & -bits).bit_length() - 1 >> 3, last + 1)
    numbers = [match.start() for match in _SET_BYTE.finditer(data)]
    return reversed(numbers) if newest_first else numbers


def encoded(bits: int) -> bytes:
    return bits.to_bytes(_BYTES, "little")


def decoded(data: bytes) -> int:
    return int.from_bytes(data, "little")


def own_slot(term: int) -> int:
    """Where a term is that many jobs have."""
    return -1 - term


def bucket(term: int) -> int:
    """Where a term is that few jobs have, among others."""
    return term % _BUCKETS


def _mark(term: int) -> int:
    """What tells a term from the others of its bucket: of its bits, the next 32."""
    return term // _BUCKETS & 0xFFFFFFFF


def entries(term: int, places: Iterable[int]) -> bytes:
    mark = _mark(term)
    return b"".join([_entry.pack(mark, place) for place in places])


def places_in_bucket(data: bytes, term: int) -> list[int]:
    """The places that a bucket has for a term."""
    mark, found = _mark(term).to_bytes(4, "little"), []
    at = data.find(mark)
    while at >= 0:
        if at % _ENTRY == 0:
            found.append(data[at + 4] | data[at + 5] << 8)
        at = data.find(mark, at + 1)
    return found


def without_entry(data: bytes, term: int, place: int) -> bytes:
    entry = _entry.pack(_mark(term), place)
    at = data.find(entry)
    while at >= 0:
        if at % _ENTRY == 0:
            data = data[:at] + data[at + _ENTRY :]
            at -= 1
        at = data.find(entry, at + 1)
    return data


def entries_within(data: bytes, kept: int) -> bytes:
    """The entries of a bucket whose places are in a set."""
    alive = encoded(kept)
    parts = (data[at : at + _ENTRY] for at in range(0, len(data), _ENTRY))
    return b"".join(part for part in parts if alive[(part[4] | part[5] << 8) >> 3] >> (part[4] & 7) & 1)


class CreationTimes:
    """The first and the last time of creation in each block of a segment, in microseconds."""

    def __init__(self, data: bytes | None = None) -> None:
        self._times = array("q", data or b"")
        if not data:
            self._times.extend((_NEVER, -_NEVER) * _BLOCKS)

    def note(self, block: int, first: int, last: int) -> None:
        self._times[2 * block] = min(self._times[2 * block], first)
        self._times[2 * block + 1] = max(self._times[2 * block + 1], last)

    def encoded(self) -> bytes:
        return self._times.tobytes()

    def within(self, first: int, last: int) -> int:
        """The places of jobs that may have been created in a range."""
        if min(self._times[::2]) > last or max(self._times[1::2]) < first:
            return 0
        found = 0
        for block in range(_BLOCKS):
            if self._times[2 * block] <= last and self._times[2 * block + 1] >= first:
                found |= _BLOCK_FULL << (block * _BLOCK)
        return found
