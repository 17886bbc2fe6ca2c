"""Workers that were heard of keep what they hold: one statement for all of them, however much that is."""

from collections.abc import Callable

from tickwork.dispatch.connected_worker import ConnectedWorker
from tickwork.model.worker import LEASE
from tickwork.model.worker_protocol import LEASE_RAN_OUT, Drain, Micros, Renewed
from tickwork.store.port.dispatch import DispatchStore, Renewal


class Renewer:
    def __init__(self, store: DispatchStore, now: Callable[[], Micros]) -> None:
        self._store = store
        self._now = now
        self._heard: dict[ConnectedWorker, float] = {}

    def hear(self, member: ConnectedWorker, sent: float) -> None:
        self._heard[member] = sent

    async def renew(self) -> bool:
        """Renew for all that were heard of since the last time."""
        if not self._heard:
            return False
        heard = dict(self._heard)
        renewal = await self._store.renew([member.seat for member in heard], LEASE)
        for member, sent in heard.items():
            if self._heard.get(member) is sent:  # and no later beat has come
                del self._heard[member]
            self._answer(member, sent, renewal)
        return bool(self._heard)

    def _answer(self, member: ConnectedWorker, sent: float, renewal: Renewal) -> None:
        if member.seat in renewal.kept:
            member.send(Renewed(sent, self._now()))
            if renewal.kept[member.seat] and not member.draining:
                member.send(Drain())  # somebody else's wish; it answers with its own
        elif member.seat in renewal.elsewhere:
            member.dismiss()
        else:
            member.send(LEASE_RAN_OUT)
