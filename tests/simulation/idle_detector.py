"""Who is at work. Only when nobody is does the next event happen: so one seed has one history, although the nodes are
made of asyncio tasks and the database answers when it likes."""

import asyncio

_TURNS = 6  # of the loop, for what follows without waiting for anything outside


class IdleDetector:
    def __init__(self) -> None:
        self._busy: set[object] = set()
        self._still = asyncio.Event()

    def begin(self, actor: object) -> None:
        self._busy.add(actor)
        self._still.clear()

    def rest(self, actor: object) -> None:
        self._busy.discard(actor)
        if not self._busy:
            self._still.set()

    async def __call__(self) -> None:
        while True:
            if self._busy:
                await self._still.wait()
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            if not self._busy:
                return
