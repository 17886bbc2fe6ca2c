"""How much more a worker can take: places, and of each resource how much is free."""

from collections.abc import Mapping

_ROUNDING = 1e-9  # 0.1 three times is a little more than 0.3


class Space:
    __slots__ = ("free", "places")

    def __init__(self, places: int, free: dict[str, float]) -> None:
        self.places = places
        self.free = free

    def fits(self, needs: Mapping[str, float]) -> int:
        """How many with such needs."""
        if not needs or self.places <= 0:
            return max(self.places, 0)
        by_resource = (int(self.free.get(name, 0.0) / amount + _ROUNDING) for name, amount in needs.items())
        return max(min(self.places, *by_resource), 0)

    def take(self, count: int, needs: Mapping[str, float]) -> None:
        self.places -= count
        for name, amount in needs.items():
            self.free[name] -= count * amount

    def spare(self, needs: Mapping[str, float]) -> tuple[float, int]:
        """What would be left: the worker with the least of it fits best."""
        return sum(self.free.get(name, 0.0) / amount for name, amount in needs.items()), self.places
