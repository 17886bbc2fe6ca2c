"""`tickwork breaker`."""

from support.sample_answers import OPEN_BREAKER, changed, page
from tickwork.model.circuit_breaker import BreakerState


def test_lists_what_fails_and_how_many_wait_for_it(ask, server):
    server.will_answer(page(OPEN_BREAKER))
    head, line = ask("breaker", "list").stdout.splitlines()
    assert (
        " ".join(head.split())
        == "DESTINATION STATE SINCE IN A ROW WITHIN A MINUTE WAITING NEXT TRY LAST ERROR"
    )
    for cell in ("https://api.example.com", "open", " 5 ", "6 of 7", " 12 ", "Http503: api"):
        assert cell in line


def test_resets_one_by_its_destination(ask, server):
    server.will_answer(changed(OPEN_BREAKER, state=BreakerState.CLOSED, next_probe_at=None))
    done = ask("breaker", "reset", "https://api.example.com")
    assert "closed" in done.stdout
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/breakers/reset")
    assert asked.json == {"destination": "https://api.example.com"}


def test_says_when_there_is_nothing_to_reset(ask, server):
    server.will_refuse(409, "there is nothing to reset: https://b.example.com has not failed recently")
    done = ask("breaker", "reset", "https://b.example.com")
    assert done.exit_code != 0
    assert "has not failed recently" in done.stderr
