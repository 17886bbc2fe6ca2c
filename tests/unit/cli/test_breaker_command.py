"""`tickwork breaker`."""

from sample import NOON, changed, page

from tickwork.model.circuit_breaker import BreakerState, BreakerView

OPEN = BreakerView(
    destination="https://api.example.com",
    state=BreakerState.OPEN,
    since=NOON,
    reason="failed 5 times in a row",
    failures_in_a_row=5,
    calls=7,
    failures=6,
    last_error="Http503: api.example.com answered 503 Service Unavailable",
    next_probe_at=NOON,
    waiting=12,
)


def test_lists_what_fails_and_how_many_wait_for_it(ask, server):
    server.will_answer(page(OPEN))
    head, line = ask("breaker", "list").stdout.splitlines()
    assert (
        " ".join(head.split())
        == "DESTINATION STATE SINCE IN A ROW WITHIN A MINUTE WAITING NEXT TRY LAST ERROR"
    )
    for cell in ("https://api.example.com", "open", " 5 ", "6 of 7", " 12 ", "Http503: api"):
        assert cell in line


def test_resets_one_by_its_destination(ask, server):
    server.will_answer(changed(OPEN, state=BreakerState.CLOSED, next_probe_at=None))
    done = ask("breaker", "reset", "https://api.example.com")
    assert "closed" in done.stdout
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/v1/breakers/reset")
    assert asked.json == {"destination": "https://api.example.com"}


def test_says_when_there_is_nothing_to_reset(ask, server):
    server.will_refuse(409, "there is nothing to reset: https://b.example.com has not failed of late")
    done = ask("breaker", "reset", "https://b.example.com")
    assert done.exit_code != 0
    assert "has not failed of late" in done.stderr
