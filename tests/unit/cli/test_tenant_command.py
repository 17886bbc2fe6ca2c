"""`tickwork tenant`: what an operator sees before and while a tenant is deleted."""

import pytest

from support.sample_answers import NOON, changed
from tickwork.model.job_change_record import ChangeAuthor
from tickwork.model.tenant import TenantContents, TenantPurgeView, TenantView

ACME = TenantView(name="acme", created_at=NOON, keys=2, is_being_purged=False)
CONTENTS = TenantContents(
    name="acme",
    counts={"jobs": 3, "executions": 100_000, "pings": 0},
    at_least=["executions"],
    is_in_archive=True,
)
PURGE = TenantPurgeView(
    name="acme",
    status="completed",
    requested_at=NOON,
    requested_by=ChangeAuthor("k1", "ann"),
    ended_at=NOON,
    removed={"executions": 120_000, "dead_letters": 2, "events": 0},
    is_in_archive=True,
)


def test_lists_them(ask, server):
    server.will_answer({"items": [ACME], "next_cursor": None})
    assert "acme" in ask("tenant", "list").stdout


def test_a_dry_run_only_says_what_would_be_deleted(ask, server):
    server.will_answer(CONTENTS)
    shown = ask("tenant", "purge", "acme", "--dry-run").stdout
    assert "3 jobs, at least 100,000 executions" in shown
    assert "may have something of it" in shown
    (asked,) = server.asked
    assert (asked.method, asked.path) == ("GET", "/v1/tenants/acme")


def test_says_what_will_be_deleted_and_asks_for_the_name(ask, server):
    server.will_answer(CONTENTS)
    server.will_answer(PURGE)
    done = ask("tenant", "purge", "acme", stdin="acme\n")
    assert "acme has 3 jobs, at least 100,000 executions" in done.stderr
    assert "Nothing of it can be restored" in done.stderr
    assert (server.asked[1].method, server.asked[1].query) == ("DELETE", {"confirm": ["acme"]})
    assert "120,000 executions, 2 dead letters deleted" in done.stdout
    assert "ann (k1)" in done.stdout


def test_another_name_deletes_nothing(ask, server):
    server.will_answer(CONTENTS)
    server.will_refuse(422, "confirm: repeat its name: confirm=acme")
    done = ask("tenant", "purge", "acme", stdin="acm\n")
    assert server.asked[1].query == {"confirm": ["acm"]}
    assert done.exit_code != 0


def test_waits_until_the_database_is_rid_of_it(ask, server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("tickwork.cli.tenant_command._PAUSE", 0.0)
    going_on = changed(PURGE, status="running", ended_at=None)
    server.will_answer(going_on, 202)
    server.will_answer(going_on)
    server.will_answer(PURGE)
    done = ask("tenant", "purge", "acme", "--confirm", "acme")
    assert [asked.path for asked in server.asked[1:]] == ["/v1/tenants/acme/purge"] * 2
    assert "completed" in done.stdout


def test_does_not_wait_if_told_so(ask, server):
    server.will_answer(changed(PURGE, status="running", ended_at=None, removed={}), 202)
    done = ask("tenant", "purge", "acme", "--confirm", "acme", "--no-wait")
    assert len(server.asked) == 1
    assert "nothing deleted yet" in done.stdout
