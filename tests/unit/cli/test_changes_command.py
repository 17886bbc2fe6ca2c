"""`tickwork job changes`."""

import json

from support.sample_answers import NOON, page
from tickwork.model.job_change_record import ChangeAuthor, FieldChange, JobChange

EDITED = JobChange(
    at=NOON,
    kind="changed",
    version=2,
    by=ChangeAuthor("k3", "deploy", session=True),
    fields=[FieldChange("schedule", "every 1h", "every 5m"), FieldChange("owner", None, "ann")],
    more_fields=4,
)
CREATED = JobChange(at=NOON, kind="created", version=1, by=None, fields=[])


def test_prints_who_changed_what(ask, server):
    server.will_answer(page(EDITED, CREATED))
    done = ask("job", "changes", "key:nightly")
    assert server.asked[0].path == "/v1/jobs/key%3Anightly/changes"
    assert "changed by deploy (k3, signed in)" in done.stdout
    assert '  schedule: "every 1h" → "every 5m"' in done.stdout
    assert '  owner: nothing → "ann"' in done.stdout
    assert "  and 4 more fields" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("created")


def test_says_where_the_next_page_begins(ask, server):
    server.will_answer(page(EDITED, next_cursor="abc"))
    done = ask("job", "changes", "j1", "--limit", "1")
    assert server.asked[0].query == {"limit": ["1"]}
    assert "--cursor abc" in done.stderr


def test_prints_json(ask, server):
    server.will_answer(page(CREATED))
    done = ask("job", "changes", "j1", "-o", "jsonl")
    assert json.loads(done.stdout)["kind"] == "created"
