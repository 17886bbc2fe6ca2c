"""`tickwork workflow`."""

from datetime import UTC, datetime

from support.sample_answers import page
from tickwork.model.workflow_list import WorkflowStates, WorkflowView

WORKFLOW = WorkflowView(
    job_id="j1",
    name="extract",
    key=None,
    task="work",
    jobs=2000,
    truncated=True,
    states=WorkflowStates(failed=2, completed=1997, none=1),
    scheduled_for=datetime(2026, 1, 5, 12, tzinfo=UTC),
    started_at=None,
    finished_at=None,
)


def test_lists_workflows_with_their_states(ask, server):
    server.will_answer(page(WORKFLOW))
    _head, line = ask("workflow", "list", "--limit", "5").stdout.splitlines()
    for cell in ("j1", "extract", "2,000+", "1,997 completed, 2 failed, 1 not run"):
        assert cell in line
    (asked,) = server.asked
    assert (asked.path, asked.query) == ("/v1/workflows", {"limit": ["5"]})
