"""What a message says, as plain text: a title, and for each item its facts or the text of the channel's template."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from tickwork.model.channel import MessageTemplate
from tickwork.model.errors import printable
from tickwork.model.message_template import fill_template
from tickwork.model.notification_message import (
    NotificationItem,
    NotificationMessage,
    NotifiedExecution,
    NotifiedJob,
    Severity,
)

MOST_ITEMS = 20  # that a message shows; it says how many more there are
_LONGEST_TITLE = 300
_LONGEST_TEXT = 10_000
_LONGEST_ERROR = 1_000
_LONGEST_DETAIL = 300
_MOST_DETAILS = 10
_SEVERITIES = (*Severity,)

Fact = tuple[str, str]  # a label and its value


class RenderedItem(NamedTuple):
    title: str
    facts: list[Fact]  # none if the template has a body
    text: str  # the facts as lines, or what the template says
    url: str | None  # where the dashboard shows it
    item: NotificationItem


class Rendered(NamedTuple):
    title: str
    items: list[RenderedItem]
    left_off: int  # how many items are not shown
    severity: Severity  # of the most severe item
    url: str | None

    @property
    def text(self) -> str:
        """Everything but the title."""
        if len(self.items) == 1 and not self.left_off:
            return _with_url(self.items[0].text, self.items[0].url)
        parts = [_with_url(f"{item.title}\n{item.text}", item.url) for item in self.items]
        return "\n\n".join([*parts, *([f"and {self.left_off} more"] if self.left_off else [])])

    def shortened(self, items: int) -> "Rendered":
        """With at most so many items."""
        shown = self.items[:items]
        return self._replace(items=shown, left_off=self.left_off + len(self.items) - len(shown))


def render(
    message: NotificationMessage, channel: str, template: MessageTemplate | None, public_url: str | None
) -> Rendered:
    """`channel`: its name. `public_url`: where users reach the dashboard; without it there are no links."""
    template = template or MessageTemplate()
    items = sorted(message.items, key=_severity_first)
    values = _Values(message, channel, public_url)
    shown = [values.rendered(item, template.body) for item in items[:MOST_ITEMS]]
    first = items[0]
    title = (
        fill_template(template.title, values.of_message(first), _LONGEST_TITLE)
        if template.title
        else _usual_title(items)
    )
    return Rendered(
        one_line(title),
        shown,
        len(items) - len(shown),
        first.severity,
        values.url(first) if len(items) == 1 else _page(public_url, "/notifications"),
    )


def one_line(text: str) -> str:
    """Without control characters, for titles and headers."""
    return printable(" ".join(text.split()))[:_LONGEST_TITLE]


class _Values:
    """The values of the fields of templates."""

    def __init__(self, message: NotificationMessage, channel: str, public_url: str | None) -> None:
        self._message = message
        self._channel = channel
        self._public_url = public_url

    def url(self, item: NotificationItem) -> str | None:
        return _page(self._public_url, item.path)

    def rendered(self, item: NotificationItem, body: str | None) -> RenderedItem:
        if body:
            text = fill_template(body, lambda field: self._value(item, field, item.count), _LONGEST_TEXT)
            return RenderedItem(one_line(item.title), [], text, self.url(item), item)
        facts = _facts(item)
        text = "\n".join(f"{label}: {value}" for label, value in facts)
        return RenderedItem(one_line(item.title), facts, text, self.url(item), item)

    def of_message(self, first: NotificationItem) -> Any:
        """The fields of the title: those of the first item, with the count of all."""
        total = sum(item.count for item in self._message.items)
        return lambda field: self._value(first, field, total)

    def _value(self, item: NotificationItem, field: str, count: int) -> str:
        name, _, part = field.partition(".")
        match name:
            case "count":
                return str(count)
            case "items":
                return str(len(self._message.items))
            case "channel":
                return self._channel
            case "url":
                return self.url(item) or ""
            case "detail":
                return _text(item.detail.get(part))
        value = getattr(item, name, None)
        return _text(getattr(value, part, None) if part else value)


def _severity_first(item: NotificationItem) -> tuple[int, datetime]:
    return -_SEVERITIES.index(item.severity), item.at


def _usual_title(items: list[NotificationItem]) -> str:
    first = items[0]
    if len(items) > 1:
        return f"{first.title}, and {len(items) - 1} more"
    return f"{first.title} ({first.count} times)" if first.count > 1 else first.title


def _facts(item: NotificationItem) -> list[Fact]:
    facts = [
        ("When", _when(item)),
        ("Job", _job(item.job)),
        ("Task", item.job and item.job.task),
        ("Queue", item.job and item.job.queue),
        ("Tags", item.job and ", ".join(item.job.tags)),
        ("Execution", _execution(item.execution)),
        ("Error", _error(item.execution)),
        ("Last", _last(item)),
        *((name, _text(value)[:_LONGEST_DETAIL]) for name, value in [*item.detail.items()][:_MOST_DETAILS]),
    ]
    return [(label, value) for label, value in facts if value]


def _when(item: NotificationItem) -> str:
    if item.last_at is None or item.count == 1:
        return _text(item.at)
    return f"{item.count} times from {_text(item.at)} to {_text(item.last_at)}"


def _job(job: NotifiedJob | None) -> str | None:
    if job is None:
        return None
    name = job.name or job.key
    return f"{name} ({job.id})" if name else job.id


def _execution(execution: NotifiedExecution | None) -> str | None:
    if execution is None:
        return None
    attempt = f", attempt {execution.attempt}" if execution.attempt else ""
    due = f", due {_text(execution.scheduled_for)}" if execution.scheduled_for else ""
    return f"{execution.id}{attempt}{due}"


def _error(execution: NotifiedExecution | None) -> str | None:
    if execution is None or not (execution.error_type or execution.error_message):
        return None
    return ": ".join(filter(None, (execution.error_type, execution.error_message)))[:_LONGEST_ERROR]


def _last(item: NotificationItem) -> str | None:
    parts = (_job(item.last_job), _execution(item.last_execution), _error(item.last_execution))
    return "; ".join(filter(None, parts)) or None


def _page(public_url: str | None, path: str | None) -> str | None:
    return f"{public_url.rstrip('/')}{path}" if public_url and path else None


def _with_url(text: str, url: str | None) -> str:
    return f"{text}\n{url}" if url else text


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return str(value)
        case datetime():
            return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
        case list() if all(isinstance(each, str) for each in value):
            return ", ".join(value)
        case _:
            return msgspec.json.encode(value).decode()
