"""A schedule as it is given, text or object → one instant, or canonical forms to be joined."""

from datetime import datetime
from typing import Any, NamedTuple

from tickwork.model.schedule import KINDS
from tickwork.trigger.draft import Draft, canonical_of
from tickwork.trigger.due.zone import zone_named
from tickwork.trigger.form import FORMS, Setting, form_of, read_form
from tickwork.trigger.once import Moment
from tickwork.trigger.option import JOB_NAMES, NAMES, Options, read_options
from tickwork.trigger.problems import Problems
from tickwork.trigger.timing import compile_source

_MOST_JOINED = 32

Part = dict[str, Any]


class Reader(NamedTuple):
    """What it returns is of no use once there are problems."""

    problems: Problems
    now: datetime
    seed: str
    notes: list[str]  # what was read into the words, to be said back

    def read(self, given: object, outer: Options) -> Moment | list[Part]:
        return self._read(given, outer, "schedule", KINDS, (*NAMES, *JOB_NAMES))

    def _read(
        self, given: object, outer: Options, path: str, kinds: tuple[str, ...], names: tuple[str, ...]
    ) -> Moment | list[Part]:
        schedule = {form_of(given): given} if isinstance(given, str) else given
        if not isinstance(schedule, dict):
            self.problems.add(path, "a schedule is a text or an object", 'such as "every weekday at 9am"')
            return []
        self.problems.check_names(path, schedule, (*kinds, *names))
        options = read_options(schedule, outer, path, self.problems)
        kind = self._only_kind(schedule, path, kinds)
        if kind is None:
            return []
        if kind == "any":
            return self._any(schedule["any"], options, f"{path}.any")
        found = self._form(
            kind, schedule[kind], options, path if isinstance(given, str) else f"{path}.{kind}"
        )
        if isinstance(found, Moment):
            self._check_has_no_options(schedule, path)
            return found
        if kinds is FORMS:
            self._check_needs_no_counting(found, path)
        return self._canonical(found, options, path)

    def _only_kind(self, schedule: dict[str, Any], path: str, kinds: tuple[str, ...]) -> str | None:
        found = [kind for kind in kinds if kind in schedule]
        if len(found) == 1:
            return found[0]
        given = " and ".join(found) or "none"
        self.problems.add(path, f"exactly one of {', '.join(kinds)} is needed, not {given}")
        return None

    def _form(self, kind: str, value: object, options: Options, path: str) -> Moment | list[Draft]:
        setting = Setting(options.zone or zone_named("UTC"), options.start, self.now, self.seed)
        found = self.problems.attempt(path, read_form, kind, value, setting) or []
        for read in [found] if isinstance(found, Moment) else found:
            self.notes.extend(note for note in read.notes if note not in self.notes)
        return found

    def _canonical(self, drafts: list[Draft], options: Options, path: str) -> list[Part]:
        parts = (self.problems.attempt(path, canonical_of, draft, options) for draft in drafts)
        return [part for part in parts if part]

    def _any(self, value: object, options: Options, path: str) -> list[Part]:
        if not isinstance(value, list) or not 1 <= len(value) <= _MOST_JOINED:
            self.problems.add(path, f"any is a list of 1 to {_MOST_JOINED} schedules")
            return []
        parts: list[Part] = []
        for at, given in enumerate(value):
            parts += self._one_of_any(given, options, f"{path}[{at}]")
            if self.problems.found:
                return []
        if len(parts) > _MOST_JOINED:
            self.problems.add(path, f"at most {_MOST_JOINED} schedules can be joined, not {len(parts)}")
        return parts

    def _one_of_any(self, given: object, options: Options, path: str) -> list[Part]:
        found = self._read(given, options, path, FORMS, NAMES)
        if isinstance(found, Moment):
            self.problems.add(path, "is due only once", "join schedules that repeat")
            return []
        for part in found:
            if compile_source(part).next_after(-1) is None:
                self.problems.add(path, "this is never due: no such time exists")
        return found

    def _check_needs_no_counting(self, drafts: list[Draft], path: str) -> None:
        for draft in drafts:
            if draft.due_times:
                self.problems.add(path, "COUNT does not go with any", "give the end instead")

    def _check_has_no_options(self, schedule: dict[str, Any], path: str) -> None:
        for name in schedule:
            if name not in KINDS and name != "timezone":
                self.problems.add(f"{path}.{name}", "goes with schedules that repeat only", "leave it out")
