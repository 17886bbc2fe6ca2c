"""Templates replace fields by values. They run nothing, and stay within their bounds."""

import pytest

from tickwork.model.channel import MessageTemplate
from tickwork.model.message_template import TEMPLATE_FIELDS, fill_template, template_errors


def errors_of(text: str) -> list[str]:
    return [str(error) for error in template_errors(MessageTemplate(title=text))]


def test_replaces_fields_and_keeps_doubled_braces():
    values = {"title": "report failed", "job.name": "report", "count": "3"}
    filled = fill_template("{title} ({count}x) {{not a field}} {job.name}", values.__getitem__, 1000)
    assert filled == "report failed (3x) {not a field} report"


@pytest.mark.parametrize("field", TEMPLATE_FIELDS)
def test_every_documented_field_is_allowed(field):
    assert errors_of(f"{{{field}}}") == []


def test_details_may_have_any_name():
    assert errors_of("{detail.ping} {detail.some-thing}") == []
    assert errors_of("{detail.}") != []


def test_a_misspelt_field_is_named_with_the_one_that_was_meant():
    assert errors_of("{job.nmae} broke") == [
        "template.title: {job.nmae} is not a field (did you mean {job.name}?)"
    ]


@pytest.mark.parametrize(
    "text", ["{", "}", "a { b", "{title", "title}", "{}", "{title!r}", "{title:>10}", "{0}"]
)
def test_what_is_no_field_is_refused(text):
    assert errors_of(text)


@pytest.mark.parametrize("field", ["__class__", "job.__class__", "title.__len__", "job.name.upper", "item"])
def test_nothing_but_fields_is_reachable(field):
    assert errors_of(f"{{{field}}}")
    assert fill_template(f"<{{{field}}}>", lambda name: f"value of {name}", 100) == "<>"


def test_a_value_is_not_read_as_a_template():
    assert fill_template("{title}", lambda _: "{job.name} {{", 100) == "{job.name} {{"


def test_the_result_is_bounded_however_often_a_field_is_repeated():
    asked = []

    def value_of(field):
        asked.append(field)
        return "x" * 1_000_000

    assert len(fill_template("{title}" * 2_000, value_of, 10_000)) == 10_000
    assert len(asked) < 10
