"""The workers connected to this node, and which of them could run what."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap

from tickwork.dispatch.handout import Handout, Share
from tickwork.dispatch.member import Member
from tickwork.store.port import Lane, Works

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

    def place(self, works: Works) -> Handout:
        """Choose a worker with room for each, as far as there is any, evenly."""
        shares: dict[Member, Sequence[int]] = {}
        for lane, places in _by_lane(works.lanes).items():
            for member, share in _shared(places, self._serving.get(lane, ())):
                member.reserved += len(share)
                shares[member] = [*shares[member], *share] if member in shares else share
        return Handout(works, list(starmap(Share, shares.items())))

    def _match(self) -> None:
        self._serving.clear()
        for lane in self._lanes.values():
            self._match_lane(lane)

    def _match_lane(self, lane: Lane) -> None:
        members = [member for member in self._members.values() if member.serves(lane)]
        if members:
            self._serving[lane.id] = members


def _by_lane(lanes: Sequence[int]) -> Mapping[int, Sequence[int]]:
    """The places of each lane's work."""
    if lanes and lanes.count(lanes[0]) == len(lanes):
        return {lanes[0]: range(len(lanes))}
    places: dict[int, list[int]] = defaultdict(list)
    for place, lane in enumerate(lanes):
        places[lane].append(place)
    return places


def _shared(places: Sequence[int], members: Sequence[Member]) -> Iterator[tuple[Member, Sequence[int]]]:
    open_ones = sorted((member for member in members if member.room), key=lambda member: member.room)
    begin = 0
    for waiting, member in enumerate(open_ones):
        share = min(member.room, -(-(len(places) - begin) // (len(open_ones) - waiting)))
        if share:
            yield member, places[begin : begin + share]
        begin += share
