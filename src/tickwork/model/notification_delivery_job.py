"""A delivery: the one-time job that takes a message to its channel."""

import msgspec

from tickwork.model.catch_up_policy import CatchUp
from tickwork.model.channel import NOTIFY_TASK
from tickwork.model.job import PRIORITIES, JobRequest, JobSpec, RetryRequest
from tickwork.model.notification_message import NotificationMessage
from tickwork.model.parsed_schedule_and_preview import Once
from tickwork.model.quantities import parse_duration
from tickwork.model.requires_limits_fair_share import Placement

SYSTEM_TENANT = 0  # no key belongs to it
NOTIFICATION_QUEUE = "notifications"

# A receiver that is away for a while gets the message afterwards: the attempts last for about 15 hours.
_RETRY = RetryRequest(max_attempts=100, initial="1s", max="10m")
_TIMEOUT = "1m"
_REQUEST = JobRequest(
    task=NOTIFY_TASK, queue=NOTIFICATION_QUEUE, priority="high", retry=_RETRY, timeout=_TIMEOUT
)
_NOW = Once(None, "")
_PLACEMENT = Placement(tells_completion=True).text()  # how each ends is an event, which marks its message


def delivery_of(message: NotificationMessage) -> JobSpec:
    return resent_delivery(message.id, msgspec.json.encode(message))


def resent_delivery(dedupe_id: str, content: bytes) -> JobSpec:
    """`content`: the JSON of the message."""
    request = msgspec.structs.replace(_REQUEST, name=dedupe_id)
    return JobSpec(
        request=request,
        task=NOTIFY_TASK,
        queue=NOTIFICATION_QUEUE,
        placement=_PLACEMENT,
        priority=PRIORITIES.index("high"),
        payload=content,
        target=None,
        timeout=parse_duration(_TIMEOUT).total_seconds(),
        catch_up=CatchUp(),
        schedule=_NOW,
        definition=msgspec.json.encode(request),
    )
