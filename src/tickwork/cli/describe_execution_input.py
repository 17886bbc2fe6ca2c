"""What an attempt ran with, in words: what `tickwork execution input` prints."""

from tickwork.cli.output import absolute, as_json, full
from tickwork.model.past_attempt_input import ExecutionInput


def input_lines(given: ExecutionInput) -> str:
    """One paragraph: where the input of the attempt is from, then the call and the payload."""
    lines = [f"attempt {given.attempt} runs {given.task} with {_source(given)}"]
    if given.http:
        lines.append(f"    {given.http.method} {given.http.url}")
    lines.append(f"    {as_json(given.payload)}" if given.is_kept else "    which is no longer kept")
    return full("\n".join(lines))


def _source(given: ExecutionInput) -> str:
    if given.source == "retry":
        by = f" by {given.given_by.name} ({given.given_by.key})" if given.given_by else ""
        at = f" at {absolute(given.given_at)}" if given.given_at else ""
        return f"the payload that was given to it{by}{at}"
    if given.source == "earlier version":
        return f"version {given.version} of its job, which has version {given.current_version} now"
    return "its job as it is now"
