"""Templates of messages: texts with fields such as {job.name}, which are replaced by values and never run.

Two braces stand for one: {{ and }}. A field without a value is empty.
"""

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches

from tickwork.model.channel import MessageTemplate
from tickwork.model.errors import FieldError
from tickwork.model.notification_message import NotifiedExecution, NotifiedJob

_JOB = [f"job.{name}" for name in NotifiedJob.__struct_fields__]
_EXECUTION = [f"execution.{name}" for name in NotifiedExecution.__struct_fields__]
_OF_MESSAGE = ["title", "kind", "severity", "count", "at", "last_at", "url", "channel", "items"]
TEMPLATE_FIELDS = (
    *(*_OF_MESSAGE, *_JOB, *_EXECUTION),
    *(f"last_{name}" for name in (*_JOB, *_EXECUTION)),
)
_DETAIL = "detail."  # followed by any name: each kind of event has details of its own
_LONGEST_VALUE = 2_000
_PART = re.compile(r"\{\{|\}\}|\{(?P<field>[^{}]*)\}|[{}]")


def template_errors(template: MessageTemplate) -> Iterator[FieldError]:
    for name in ("title", "body"):
        yield from _text_errors(f"template.{name}", getattr(template, name) or "")


def fill_template(text: str, value_of: Callable[[str], str], most: int) -> str:
    """The text with the value of each field, cut to `most` characters."""
    filled, end = "", 0
    for part in _PART.finditer(text):
        field = part["field"]
        filled += text[end : part.start()]
        if field is None:
            filled += part[0][0]
        elif _is_field(field):
            filled += value_of(field)[:_LONGEST_VALUE]
        end = part.end()
        if len(filled) > most:
            break
    return (filled + text[end:])[:most]


def _text_errors(path: str, text: str) -> Iterator[FieldError]:
    for part in _PART.finditer(text):
        field = part["field"]
        if field is None and len(part[0]) == 1:
            yield FieldError(path, f"has a single {part[0]}", f"write {part[0] * 2} for one that is shown")
        elif field is not None and not _is_field(field):
            yield FieldError(path, f"{{{field[:60]}}} is not a field", _hint(field))


def _is_field(name: str) -> bool:
    return name in TEMPLATE_FIELDS or (name.startswith(_DETAIL) and len(name) > len(_DETAIL))


def _hint(name: str) -> str:
    near = get_close_matches(name[:60], TEMPLATE_FIELDS, n=1)
    return f"did you mean {{{near[0]}}}?" if near else f"known are: {', '.join(TEMPLATE_FIELDS)}"
