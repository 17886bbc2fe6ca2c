"""The tools of the chaos tests that decide by themselves."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from support.attempt_ledger import LEDGER_VARIABLE, Attempt, Ledger, Origin, Run
from support.fault_selection import selected_faults
from support.firing_delay import FiringDelays
from support.kept_steps import steps_run_again, write_step
from tickwork.model.public_ids import execution_id, to_micros

if TYPE_CHECKING:
    from support.chaos_cluster import ChaosCluster

_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _started(second: int, late: float, attempt: int = 1) -> Run:
    due = _NOON + timedelta(seconds=second)
    begun = to_micros(due + timedelta(seconds=late))
    return Run("quick", Attempt(execution_id(1, due), attempt), 1, begun)


def test_a_pause_is_how_late_the_first_of_a_due_second_began() -> None:
    usual = [_started(second, 0.1) for second in range(60) if second not in (20, 21)]
    delays = FiringDelays(
        [*usual, _started(20, 4.0), _started(20, 9.0), _started(21, 3.0), _started(22, 15.0, 2)]
    )
    at = _NOON + timedelta(seconds=20)
    assert delays.longest(at, at + timedelta(seconds=1)) == pytest.approx(3.9)
    assert delays.longest(_NOON, _NOON) == 0.0


def test_a_stored_step_must_not_run_in_a_later_attempt(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.jsonl")
    monkeypatch.setenv(LEDGER_VARIABLE, str(ledger.file))
    first, second = Origin("e1-1", 1), Origin("e1-1", 2)
    write_step("ran", "pay", first)
    write_step("stored", "pay", first)
    write_step("ran", "ship", first)  # and was not stored
    write_step("ran", "ship", second)
    write_step("stored", "pay", second)
    assert list(steps_run_again(ledger)) == []
    write_step("ran", "pay", second)
    assert list(steps_run_again(ledger)) == [
        "e1-1: step 'pay' ran again in attempt 2, although it was stored before"
    ]


def test_a_selection_is_a_number_kinds_and_whether_they_come_alone() -> None:
    chaos = cast("ChaosCluster", SimpleNamespace(disk=None))
    said: list[str] = []
    number, kinds, alone = selected_faults(chaos, "20, alone, disk full, server killed", said.append)
    assert (number, [fault.kind for fault in kinds], alone) == (20, ["server killed"], True)
    assert said == ["SKIPPED here: disk full, which needs root, to mount a disk"]
    with pytest.raises(ValueError, match="disk empty"):
        selected_faults(chaos, "disk empty", said.append)
