"""Notes wait for the database, and not without bound."""

import pytest

from tickwork.loop import Loops
from tickwork.model.errors import Unavailable
from tickwork.model.worker_protocol import LogLine, Note
from tickwork.record import log_writer as note
from tickwork.record.log_writer import LogWriter
from tickwork.wake import Wake


class PaperLogStore:
    def __init__(self):
        self.is_away = False
        self.kept = []
        self.progress = []

    async def keep(self, logged):
        if self.is_away:
            raise Unavailable("away")
        self.kept += [(each.attempt, each.first, [line.text for line in each.lines]) for each in logged]

    async def set_progress(self, notes):
        self.progress += [(each.claimed.worker_id, each.progress.fraction) for each in notes]
        return []


@pytest.fixture
def store():
    return PaperLogStore()


@pytest.fixture
def keeper(store):
    loops = Loops()
    keeper = LogWriter(store, Wake(loops, after_commit=lambda call: call()), publish=lambda _event: None)
    loops.add("notes", keeper.keep, every=1)
    return keeper


def logged(*texts, first=0, attempt=1, **details):
    lines = [LogLine(1, "info", text) for text in texts]
    return Note(tenant=1, at=1, job=1, attempt=attempt, first=first, lines=lines, **details)


async def test_waits_for_the_database_and_tells_the_worker_only_then(keeper, store):
    noted = []
    store.is_away = True
    keeper.submit(7, [logged("a", fraction=0.5)], noted=lambda: noted.append(1))
    with pytest.raises(Unavailable):
        await keeper.keep()
    keeper.submit(7, [logged("b", first=1)], noted=lambda: noted.append(2))
    with pytest.raises(Unavailable):
        await keeper.keep()
    assert (noted, store.kept) == ([], [])
    store.is_away = False
    while await keeper.keep():
        pass
    assert noted == [1, 2]
    assert store.kept == [(1, 0, ["a"]), (1, 1, ["b"])]
    assert store.progress == [(7, 0.5)]


async def test_the_oldest_make_room_and_their_worker_may_forget_them(keeper, store, monkeypatch):
    monkeypatch.setattr(note, "_MOST_BYTES", 20_000)
    noted = []
    store.is_away = True
    for number in range(100):
        keeper.submit(7, [logged("x" * 1000, first=number)], noted=lambda number=number: noted.append(number))
    assert keeper._waiting_bytes <= 20_000
    dropped = len(noted)
    assert 0 < dropped < 100
    store.is_away = False
    while await keeper.keep():
        pass
    assert [first for _, first, _ in store.kept] == [dropped]
    assert noted == list(range(100))


async def test_many_small_notes_of_an_attempt_become_one_piece_and_gaps_stay_gaps(keeper, store):
    keeper.submit(7, [logged("a"), logged("b", first=1), logged("b", "c", first=1)], noted=lambda: None)
    keeper.submit(7, [logged("z", first=9), logged("other", attempt=2)], noted=lambda: None)
    await keeper.keep()
    assert store.kept == [(1, 0, ["a", "b", "c"]), (1, 9, ["z"]), (2, 0, ["other"])]


async def test_nothing_is_asked_of_the_database_while_nothing_is_noted(keeper, store):
    assert not await keeper.keep()
    assert store.kept == store.progress == []
