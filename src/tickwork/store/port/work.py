"""Executions with all that is needed to run them, and those in a worker's hands."""

from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from tickwork.model.protocol import Key, Micros


class Works(NamedTuple):
    """Executions that could be handed to workers, with all that is needed to run them. As columns: so many are
    handed out in a second that an object for each would cost more than the statements."""

    tenants: Sequence[int]
    times: Sequence[Micros]  # when they were scheduled for
    jobs: Sequence[int]
    lanes: Sequence[int]
    attempts: Sequence[int]
    ready: Sequence[Micros]  # not to be started before
    tasks: Sequence[str]
    payloads: Sequence[bytes]
    targets: Sequence[bytes | None]
    timeouts: Sequence[float]
    priorities: Sequence[int]
    parents: Sequence[bytes | None]  # how those ended that they depend on, as JSON

    @property
    def size(self) -> int:
        return len(self.jobs)

    def at(self, places: Sequence[int]) -> "Works":
        """Those at these places."""
        if len(places) == len(self.jobs):
            return self
        if isinstance(places, range):
            return Works._make(column[places.start : places.stop] for column in self)
        return Works._make([column[place] for place in places] for column in self)

    def keys(self) -> Iterator[Key]:
        return zip(self.tenants, self.times, self.jobs, strict=True)


class HeldWorks(NamedTuple):
    leases: Sequence[int]
    works: Works

    def of(self, leases: Container[int]) -> "HeldWorks":
        places = [place for place, lease in enumerate(self.leases) if lease in leases]
        return HeldWorks([self.leases[place] for place in places], self.works.at(places))


NOTHING_HELD = HeldWorks((), Works._make([()] * len(Works._fields)))
