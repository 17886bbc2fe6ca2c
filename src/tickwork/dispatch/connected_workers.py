"""The workers connected to this node, which lanes they serve, and who gets what."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.dispatch.limits import LockedLimits
from tickwork.dispatch.send_to_worker import Handout, Share
from tickwork.store.port.dispatch import ExecutionColumns, Lane


class Behind(NamedTuple):
    """What has waited for too long though nothing but workers is missing."""

    priority: int  # the most urgent of it
    flow: int | None  # whose that is, when it is of one alone


class Lanes(Protocol):
    async def lanes(self, lanes: Collection[int]) -> list[Lane]: ...


class ConnectedWorkers:
    def __init__(self) -> None:
        self._members: dict[int, ConnectedWorker] = {}
        self._serving: dict[int, list[ConnectedWorker]] = {}
        self._first_of_flow: dict[tuple[int, str, str], int] = {}
        self.lanes: dict[int, Lane] = {}
        self.flows: dict[int, int] = {}  # of each lane: the first one known that uses the same fair share
        self.behind: Behind | None = None

    def __iter__(self) -> Iterator[ConnectedWorker]:
        return iter(list(self._members.values()))

    def __len__(self) -> int:
        return len(self._members)

    def get(self, worker_id: int) -> ConnectedWorker | None:
        return self._members.get(worker_id)

    def join(self, member: ConnectedWorker) -> None:
        member.learn(self.lanes, self.flows)
        self._members[member.seat.worker_id] = member
        self._match()

    def leave(self, member: ConnectedWorker) -> None:
        """Only if it has not come back on a newer connection meanwhile."""
        if self._members.get(member.seat.worker_id) is member:
            del self._members[member.seat.worker_id]
            self._match()

    async def learn(self, lanes: Iterable[int], source: Lanes) -> None:
        """Lanes that were not heard of before."""
        unknown = {*lanes} - self.lanes.keys()
        if unknown:
            for lane in await source.lanes(unknown):
                self._add(lane)

    def serving(self, lane: int) -> Sequence[ConnectedWorker]:
        return self._serving.get(lane, ())

    def room(self) -> int:
        return sum(member.room for member in self._members.values())

    def place(
        self, works: ExecutionColumns, gates: LockedLimits, places: Sequence[int] | None = None
    ) -> Handout:
        """Choose a worker for each, as far as there is room and the gates let it through; only at these places."""
        chosen: dict[ConnectedWorker, list[Sequence[int]]] = defaultdict(list)
        for number, alike in _by_urgency(works, places):
            lane, members = self.lanes[number], self.serving(number)
            open_ones = alike[: gates.room(lane)] if any(member.room for member in members) else ()
            if not open_ones:
                continue
            begin = 0
            for member, count in _shares(len(open_ones), members, lane.placement.resources):
                share = open_ones[begin : begin + count]
                member.reserve(number, count)
                chosen[member].append(share)
                begin += count
            gates.let_through(lane, begin)
        shares = [(member, _joined(parts)) for member, parts in chosen.items()]
        return Handout(
            works, [Share(member, parts, works.at(parts)) for member, parts in shares], gates, self.lanes
        )

    def _add(self, lane: Lane) -> None:
        self.lanes[lane.id] = lane
        self.flows[lane.id] = self._first_of_flow.setdefault(
            (lane.tenant_id, lane.queue, lane.placement.flow), lane.id
        )
        self._match_lane(lane)

    def _match(self) -> None:
        self._serving.clear()
        for lane in self.lanes.values():
            self._match_lane(lane)

    def _match_lane(self, lane: Lane) -> None:
        members = [member for member in self._members.values() if member.serves(lane)]
        if members:
            self._serving[lane.id] = sorted(members, key=lambda member: member.is_special)


def _by_urgency(works: ExecutionColumns, places: Sequence[int] | None) -> Iterator[tuple[int, Sequence[int]]]:
    """Each lane with the places of its work: the most urgent first, and of the same urgency those with the least."""
    lanes, priorities = works.lanes, works.priorities
    if places is None and _is_uniform(lanes) and _is_uniform(priorities):
        if lanes:
            yield lanes[0], range(len(lanes))
        return
    alike: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place in range(len(lanes)) if places is None else places:
        alike[priorities[place], lanes[place]].append(place)
    for (_, lane), group in sorted(alike.items(), key=lambda each: (each[0][0], len(each[1]))):
        yield lane, group


def _is_uniform(column: Sequence[int]) -> bool:
    return not column or column.count(column[0]) == len(column)


def _shares(
    count: int, members: Sequence[ConnectedWorker], needs: Mapping[str, float]
) -> Iterator[tuple[ConnectedWorker, int]]:
    """How many each gets: those first that have nothing special, evenly; of those with resources the tightest fit."""
    if needs:
        yield from _tightest_first(count, members, needs)
        return
    for _, alike in groupby(members, key=lambda member: member.is_special):
        open_ones = sorted((member for member in alike if member.room), key=lambda member: member.room)
        for waiting, member in enumerate(open_ones):
            share = min(member.room, -(-count // (len(open_ones) - waiting)))
            if share:
                yield member, share
                count -= share


def _tightest_first(
    count: int, members: Sequence[ConnectedWorker], needs: Mapping[str, float]
) -> Iterator[tuple[ConnectedWorker, int]]:
    for member in sorted(members, key=lambda member: member.space().spare(needs)):
        share = min(member.space().fits(needs), count)
        if share:
            yield member, share
            count -= share


def _joined(parts: Sequence[Sequence[int]]) -> Sequence[int]:
    return parts[0] if len(parts) == 1 else [place for part in parts for place in part]
