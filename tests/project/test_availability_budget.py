"""The table of what faults cost, from what was measured."""

from support import database_host_faults, faults  # noqa: F401 (they register their faults)
from support.availability_budget import ASSUMED, PAGE, costs, table
from support.fault_registry import FAULTS
from support.soak.soak_installation import KINDS


def test_a_year_costs_the_pause_of_the_worst_kind_times_how_often_it_happens() -> None:
    chaos = {
        "kinds": {
            "postmaster killed": {"count": 3, "pause": {"p50": 2.0, "max": 9.0}},
            "never assumed": {"count": 1, "pause": {"p50": 99.0, "max": 99.0}},
        }
    }
    soak = {"kills": {"postmaster": {"count": 5, "pause": {"p50": 4.0, "max": 6.0}}}}
    (cost,) = costs([chaos, soak])
    assert (cost.measured, cost.typical, cost.longest) == (8, 4.0, 9.0)
    assert cost.seconds == 4.0 * cost.times
    assert list(table([cost]))[-1].startswith(
        "99.99 % allows 52.6 minutes a year. This is 0.4 minutes, or 1%"
    )


def test_what_is_assumed_is_measured() -> None:
    assert {fault for each in ASSUMED for fault in each.faults} <= {*FAULTS, *KINDS}


def test_the_page_has_the_table() -> None:
    assert "| **all** |" in PAGE.read_text("utf-8")
