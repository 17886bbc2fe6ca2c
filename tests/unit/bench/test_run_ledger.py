"""The external ledger: counted by several processes, read while it is written."""

import subprocess
import sys
from array import array
from pathlib import Path

import pytest

from tickwork.bench import run_ledger as ledger
from tickwork.bench.measure_rate_cost_losses import compare_counts
from tickwork.bench.run_ledger import Ledger, Ledgers


def test_counts_of_several_processes_are_added_up(tmp_path):
    first, second = Ledger(tmp_path / "1.ledger"), Ledger(tmp_path / "2.ledger")
    first.count(0)
    first.count(2)
    second.count(2)
    ledgers = Ledgers(tmp_path)
    assert ledgers.counts(3) == array("I", [1, 0, 2])
    assert ledgers.total() == 3


def test_what_was_noted_is_still_there_when_the_ledger_is_opened_again(tmp_path):
    Ledger(tmp_path / "1.ledger").count(7)
    again = Ledger(tmp_path / "1.ledger")
    again.count(7)
    assert Ledgers(tmp_path).counts(8)[7] == 2


def test_a_ledger_that_appears_later_is_read_too(tmp_path):
    ledgers = Ledgers(tmp_path)
    assert ledgers.total() == 0
    Ledger(tmp_path / "1.ledger").count(0)
    assert ledgers.total() == 1


def test_ends_are_counted_apart_from_beginnings(tmp_path):
    ledger = Ledger(tmp_path / "1.ledger")
    ledger.count(0)
    ledger.count(1)
    ledger.record_end()
    ledgers = Ledgers(tmp_path)
    assert (ledgers.total(), ledgers.ended()) == (2, 1)


@pytest.mark.parametrize(("share", "milliseconds"), [(0.5, 50.0), (0.99, 99.0), (1.0, 100.0)])
def test_percentiles_are_of_what_was_noted(tmp_path, share, milliseconds):
    ledger = Ledger(tmp_path / "1.ledger")
    for late in range(1, 101):
        ledger.record_lateness(late * 1000 - 1)
    assert Ledgers(tmp_path).lateness().milliseconds(share) == pytest.approx(milliseconds, rel=0.002)


@pytest.mark.parametrize("micros", [0, 1023, 1024, 2047, 2048, 999_999, 25_000_000, 3_600_000_000])
def test_a_lateness_is_told_to_a_fifth_of_a_percent(tmp_path, micros):
    Ledger(tmp_path / "1.ledger").record_lateness(micros)
    told = Ledgers(tmp_path).lateness().milliseconds(1.0) * 1000
    assert micros < told + 5  # rounded to hundredths of a millisecond
    assert told <= micros * 1.002 + 6


def test_what_is_later_than_can_be_told_counts_as_the_latest(tmp_path):
    Ledger(tmp_path / "1.ledger").record_lateness(1 << 50)
    assert Ledgers(tmp_path).lateness().milliseconds(1.0) == pytest.approx((1 << 40) / 1000)


def test_peers_can_write_it_with_nothing_but_the_standard_library(tmp_path):
    code = "import sys; sys.path.append(sys.argv[1]); import run_ledger, pathlib;"
    code += "run_ledger.Ledger.create(pathlib.Path(sys.argv[2])).count(3)"
    folders = Path(ledger.__file__).parent, tmp_path
    subprocess.run([sys.executable, "-I", "-S", "-c", code, *folders], check=True)
    assert Ledgers(tmp_path).total() == 1


def test_lateness_of_nothing_is_nought(tmp_path):
    assert Ledgers(tmp_path).lateness().milliseconds(0.99) == 0.0


def test_what_began_early_is_counted(tmp_path):
    ledger = Ledger(tmp_path / "1.ledger")
    ledger.record_lateness(-1)
    ledger.record_lateness(0)
    assert Ledgers(tmp_path).lateness().early == 1


def test_lateness_can_be_of_a_stretch_of_time(tmp_path):
    ledger, ledgers = Ledger(tmp_path / "1.ledger"), Ledgers(tmp_path)
    ledger.record_lateness(5_000_000)
    before = ledgers.lateness()
    ledger.record_lateness(999)
    assert ledgers.lateness().since(before).summary() == {
        "p50_ms": 1.0, "p95_ms": 1.0, "p99_ms": 1.0, "max_ms": 1.0, "measured": 1, "early": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("due", "ran", "completed", "skipped", "lost", "doubled"),
    [
        ([2, 2], [2, 2], [2, 2], [0, 0], 0, 0),
        ([2, 2], [1, 2], [1, 2], [0, 0], 1, 0),  # due and not run
        ([2, 2], [3, 2], [2, 2], [0, 0], 1, 1),  # run too often, and one of them is not on record
        ([2, 2], [2, 2], [2, 1], [0, 0], 1, 0),  # run and not recorded
        ([2, 2], [1, 2], [1, 2], [1, 0], 0, 0),  # skipped is neither
        ([2, 2], [3, 1], [3, 1], [0, 0], 1, 1),  # they do not make up for one another
    ],
)
def test_nothing_makes_up_for_what_was_lost_or_doubled(due, ran, completed, skipped, lost, doubled):
    found = compare_counts(*(array("I", counts) for counts in (due, ran, completed, skipped)))
    assert (found.lost, found.doubled) == (lost, doubled)
