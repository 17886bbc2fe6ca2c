"""Log lines and progress wait for the database, up to a bound."""

import pytest

from tickwork.loop import Loops, Wake
from tickwork.model.errors import Unavailable
from tickwork.model.worker_protocol import LogLine, Note
from tickwork.record import log_writer
from tickwork.record.log_writer import LogWriter


class FakeLogStore:
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
    return FakeLogStore()


@pytest.fixture
def writer(store):
    loops = Loops()
    writer = LogWriter(store, Wake(loops, after_commit=lambda call: call()), publish=lambda _event: None)
    loops.add("write logs", writer.write, every=1)
    return writer


def logged(*texts, first=0, attempt=1, **details):
    lines = [LogLine(1, "info", text) for text in texts]
    return Note(tenant=1, at=1, job=1, attempt=attempt, first=first, lines=lines, **details)


async def test_waits_for_the_database_before_it_acknowledges(writer, store):
    written = []
    store.is_away = True
    writer.submit(7, [logged("a", fraction=0.5)], written=lambda: written.append(1))
    with pytest.raises(Unavailable):
        await writer.write()
    writer.submit(7, [logged("b", first=1)], written=lambda: written.append(2))
    with pytest.raises(Unavailable):
        await writer.write()
    assert (written, store.kept) == ([], [])
    store.is_away = False
    while await writer.write():
        pass
    assert written == [1, 2]
    assert store.kept == [(1, 0, ["a"]), (1, 1, ["b"])]
    assert store.progress == [(7, 0.5)]


async def test_drops_and_acknowledges_the_oldest_beyond_the_bound(writer, store, monkeypatch):
    monkeypatch.setattr(log_writer, "_MOST_BYTES", 20_000)
    written = []
    store.is_away = True
    for number in range(100):
        writer.submit(
            7, [logged("x" * 1000, first=number)], written=lambda number=number: written.append(number)
        )
    assert writer._waiting_bytes <= 20_000
    dropped = len(written)
    assert 0 < dropped < 100
    store.is_away = False
    while await writer.write():
        pass
    assert [first for _, first, _ in store.kept] == [dropped]
    assert written == list(range(100))


async def test_joins_consecutive_lines_of_an_attempt_and_keeps_gaps(writer, store):
    writer.submit(7, [logged("a"), logged("b", first=1), logged("b", "c", first=1)], written=lambda: None)
    writer.submit(7, [logged("z", first=9), logged("other", attempt=2)], written=lambda: None)
    await writer.write()
    assert store.kept == [(1, 0, ["a", "b", "c"]), (1, 9, ["z"]), (2, 0, ["other"])]


async def test_does_not_use_the_database_without_lines_or_progress(writer, store):
    assert not await writer.write()
    assert store.kept == store.progress == []
