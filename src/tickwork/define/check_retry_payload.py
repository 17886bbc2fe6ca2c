"""Checks the payload that somebody gives to one execution of a job, as that of the job itself is checked."""

import msgspec

from tickwork.define.compile_job import check_payload
from tickwork.model.errors import Invalid
from tickwork.model.job import JobRequest, for_each_of
from tickwork.store.port.define import JobStore


class RetryPayloads:
    def __init__(self, store: JobStore) -> None:
        self._store = store

    async def check(self, tenant_id: int, job: int, payload: object) -> bytes:
        """The payload as JSON. Raises Invalid when the job's task does not take it."""
        definition = await self._store.definition(tenant_id, job)
        request = msgspec.convert({**definition.document, "payload": payload}, JobRequest)
        if for_each_of(request):
            hint = "retry the executions of its elements, or edit the job"
            raise Invalid.field(
                "payload", "this job runs for each element of a list, with a payload each", hint
            )
        known = await self._store.find_tasks(tenant_id, {request.task} if request.task else set())
        task = known.get(request.task or "")
        return check_payload(request, task.schema if task else None)
