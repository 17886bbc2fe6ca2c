"""What the metrics ask of the store about the whole system."""

from typing import NamedTuple, Protocol


class SystemState(NamedTuple):
    fire_lag: float  # seconds; 0 if no rule is late
    event_lag: float  # seconds; 0 if every event has its number
    dead_letters: int
    workers: int
    key_expires_in: float | None  # seconds, of the API key in use that expires next


class MetricStore(Protocol):
    async def system_state(self, most_dead_letters: int) -> SystemState:
        """Of all tenants. Dead letters are counted up to `most_dead_letters`."""
