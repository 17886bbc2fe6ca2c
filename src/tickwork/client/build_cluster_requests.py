"""Builds the requests about the cluster as a whole, as plain values."""

from typing import Literal

from tickwork.client.build_requests import Call, get, given, post
from tickwork.model.cluster import ClusterView, PauseView
from tickwork.model.resume_cluster import Resumed, ResumeReport


def get_cluster() -> Call[ClusterView]:
    """The server nodes and the state of their database. Needs an admin key of the tenant default."""
    return get("cluster", answer=ClusterView)


def pause_cluster(reason: str | None = None) -> Call[PauseView]:
    """Pause the cluster: nothing fires or is handed over until it is resumed. Needs an admin key of the tenant
    default."""
    return post("cluster", "pause", answer=PauseView, body=given(locals()))


def get_resume_report(*, limit: int | None = None) -> Call[ResumeReport]:
    """What there is to decide before the cluster is resumed. Needs an admin key of the tenant default."""
    return get("cluster", "resume-report", answer=ResumeReport, query={"limit": limit})


def resume_cluster(
    *,
    missed: Literal["catch_up", "skip"] = "catch_up",
    running: Literal["on_worker_lost", "retry", "cancel"] = "on_worker_lost",
    overdue: Literal["run", "cancel"] = "run",
) -> Call[Resumed]:
    """Resume a paused cluster. Repeat this while the answer is not `resumed`. Needs an admin key of the tenant
    default."""
    return post("cluster", "resume", answer=Resumed, body=given(locals()))
