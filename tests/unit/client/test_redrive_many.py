"""Redriving many: how the client cuts it into requests."""

from datetime import timedelta

import pytest

from support.sample_answers import NOON
from tickwork.client.sync_client import Client
from tickwork.model import dead_letter
from tickwork.model.dead_letter import CHUNK, Redriven, Refused


@pytest.fixture
def client(server):
    with Client(server.url, "secret") as client:
        yield client


def test_goes_on_until_nothing_is_left_at_the_same_pace(client, server):
    later = NOON + timedelta(hours=1)
    server.will_answer(Redriven(redriven=CHUNK, as_of=NOON, last_at=later))
    server.will_answer(Redriven(redriven=7, as_of=NOON, last_at=later + timedelta(minutes=7)))
    done = client.redrive_dead_letters(filter={"task": "report"}, rate="1/1m")
    assert (done.redriven, done.last_at) == (CHUNK + 7, later + timedelta(minutes=7))
    first, second = (asked.json for asked in server.asked)
    assert first == {"filter": {"task": "report"}, "rate": "1/1m", "max": CHUNK}
    assert second["start_at"] == "2026-11-15T13:01:00Z"
    assert second["filter"] == {"task": "report", "until": "2026-11-15T12:00:00Z"}  # not what fails again
    keys = {asked.headers["Idempotency-Key"] for asked in server.asked}
    assert len(keys) == 2


def test_asks_for_no_more_than_wanted(client, server):
    server.will_answer(Redriven(redriven=CHUNK, as_of=NOON, last_at=NOON))
    server.will_answer(Redriven(redriven=10, as_of=NOON, last_at=NOON))
    assert client.redrive_dead_letters(filter={}, max=CHUNK + 10).redriven == CHUNK + 10
    assert [asked.json["max"] for asked in server.asked] == [CHUNK, 10]


def test_ids_are_one_request(client, server):
    refused = [Refused("e5-1", "job j5 is cancelled")]
    server.will_answer(Redriven(redriven=1, as_of=NOON, last_at=NOON, not_found=["e1-1"], refused=refused))
    done = client.redrive_dead_letters(["e5-1", "e1-1", "e2-1"])
    assert (done.redriven, done.not_found, done.refused) == (1, ["e1-1"], refused)
    assert [asked.json["ids"] for asked in server.asked] == [["e5-1", "e1-1", "e2-1"]]
    assert dead_letter.CHUNK == 5000  # what the API's docs say
