"""The workers connected to this node, and which of them could run what."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from tickwork.dispatch.handout import Handout
from tickwork.dispatch.member import Member
from tickwork.store.port import Lane, Work

_MOST_PER_LANE = 2000  # claimed in one go


class Roster:
    def __init__(self) -> None:
        self._members: dict[int, Member] = {}
        self._lanes: dict[int, Lane] = {}
        self._serving: dict[int, list[Member]] = {}
        self.newest_lane = 0

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._members.values()))

    def __len__(self) -> int:
        return len(self._members)

    def get(self, worker_id: int) -> Member | None:
        return self._members.get(worker_id)

    def join(self, member: Member) -> None:
        self._members[member.seat.worker_id] = member
        self._match()

    def leave(self, member: Member) -> None:
        """Only if it has not come back on a newer connection meanwhile."""
        if self._members.get(member.seat.worker_id) is member:
            del self._members[member.seat.worker_id]
            self._match()

    def learn(self, lanes: Iterable[Lane]) -> None:
        for lane in lanes:
            self._lanes[lane.id] = lane
            self.newest_lane = max(self.newest_lane, lane.id)
            self._match_lane(lane)

    def rooms(self) -> dict[int, int]:
        """How much each lane's workers could take, for lanes where that is something."""
        rooms = {lane: sum(member.room for member in members) for lane, members in self._serving.items()}
        return {lane: min(room, _MOST_PER_LANE) for lane, room in rooms.items() if room}

    def place(self, works: Sequence[Work]) -> Handout:
        """Choose a worker with room for each, as far as there is any, evenly."""
        by_lane: dict[int, list[int]] = defaultdict(list)
        for index, work in enumerate(works):
            by_lane[work.lane_id].append(index)
        chosen: list[Member | None] = [None] * len(works)
        for lane, indexes in by_lane.items():
            self._share(indexes, self._serving.get(lane, ()), chosen)
        return Handout(works, chosen)

    def _share(self, indexes: list[int], members: Sequence[Member], chosen: list[Member | None]) -> None:
        open_ones = sorted((member for member in members if member.room), key=lambda member: member.room)
        begin = 0
        for waiting, member in enumerate(open_ones):
            share = min(member.room, -(-(len(indexes) - begin) // (len(open_ones) - waiting)))
            chosen_here = indexes[begin : begin + share]
            for index in chosen_here:
                chosen[index] = member
            member.reserved += len(chosen_here)
            begin += share

    def _match(self) -> None:
        self._serving.clear()
        for lane in self._lanes.values():
            self._match_lane(lane)

    def _match_lane(self, lane: Lane) -> None:
        members = [member for member in self._members.values() if member.serves(lane)]
        if members:
            self._serving[lane.id] = members
