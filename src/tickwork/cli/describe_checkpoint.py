"""What the attempts of an execution have stored, as text: part of what `tickwork execution get` prints."""

from collections.abc import Iterator
from datetime import timedelta

from tickwork.cli.format_elapsed import format_elapsed
from tickwork.cli.output import absolute, as_json, full
from tickwork.model.checkpoint import CheckpointView, StepView

_INDENT = "    "
_MOST_SHOWN = 20  # steps
_LONGEST_VALUE = 60  # characters


def is_empty(checkpoint: CheckpointView) -> bool:
    return not checkpoint.steps and checkpoint.state_attempt is None


def checkpoint_paragraphs(checkpoint: CheckpointView, *, in_full: bool = False) -> Iterator[str]:
    """The steps that are done, and the latest state. Long ones are cut unless `in_full`."""
    if checkpoint.steps:
        yield "\n".join(["Steps that are done:", *_step_lines(checkpoint.steps, in_full)])
    if checkpoint.state_attempt is not None and checkpoint.state_at:
        stored = f"State, stored by attempt {checkpoint.state_attempt} at {absolute(checkpoint.state_at)}"
        yield f"{stored}:\n{_INDENT}{_value(checkpoint.state, in_full)}"


def _step_lines(steps: list[StepView], in_full: bool) -> Iterator[str]:
    """The last ones: they tell how far it has come."""
    hidden = 0 if in_full else max(len(steps) - _MOST_SHOWN, 0)
    if hidden:
        yield f"{_INDENT}({hidden} before these)"
    width = max(len(full(step.name)) for step in steps[hidden:])
    for step in steps[hidden:]:
        took = "" if step.took is None else format_elapsed(timedelta(seconds=step.took))
        name, value = full(step.name).ljust(width), _value(step.result, in_full)
        yield f"{_INDENT}{name}  attempt {step.attempt}  {took:>6}  {value}".rstrip()


def _value(value: object, in_full: bool) -> str:
    text = "null" if value is None else full(as_json(value))
    return text if in_full or len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
