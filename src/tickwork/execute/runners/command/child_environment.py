"""The environment of a command: little of the worker's own, what the job gives, and what Tickwork says of the attempt.

Nothing else of the worker's environment gets through, such as its API key.
"""

import os
from collections.abc import Mapping

from tickwork.model.current_span_and_job_origin import current_traceparent
from tickwork.model.public_ids import execution_id, from_micros, job_id
from tickwork.model.worker_protocol import Run

_FROM_WORKER = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


def search_path() -> str:
    """Where programs are looked up: the worker's PATH, without folders that depend on where it was started."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if folder.startswith("/"))


def child_environment(run: Run, given: Mapping[str, str]) -> dict[str, str]:
    due = from_micros(run.at)
    base = {name: os.environ[name] for name in _FROM_WORKER if name in os.environ}
    of_attempt = {
        "PATH": search_path(),
        "TICKWORK_EXECUTION_ID": execution_id(run.job, due),
        "TICKWORK_JOB_ID": job_id(run.job),
        "TICKWORK_ATTEMPT": str(run.attempt),
        "TICKWORK_SCHEDULED_FOR": f"{due:%Y-%m-%dT%H:%M:%S.%fZ}",
    }
    if traceparent := current_traceparent():
        of_attempt["TRACEPARENT"] = traceparent
    return {**base, **given, **of_attempt}
