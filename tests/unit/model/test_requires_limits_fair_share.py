import pytest

from tickwork.model.quantities import parse_size
from tickwork.model.requires_limits_fair_share import (
    NO_PLACEMENT,
    FairShare,
    Limit,
    Requires,
    placement_errors,
    placement_from_text,
    placement_of,
)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("512Mi", 512 * 1024**2),
        ("8Gi", 8 * 1024**3),
        ("1.5G", 1.5e9),
        ("2K", 2000),
        (1024, 1024),
        ("77", 77),
        ("1GiB", 1024**3),
    ],
)
def test_reads_sizes(written: str | float, size: float) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize("written", ["", "Mi", "five", "1X", "-1Gi", "1e9"])
def test_a_bad_size_says_what_would_have_been_right(written: str) -> None:
    with pytest.raises(ValueError, match="512Mi"):
        parse_size(written)


def test_asking_for_nothing_is_no_terms() -> None:
    assert placement_of(Requires(gpu=0), [], None).text() == ""
    assert placement_from_text("") is NO_PLACEMENT


def test_the_same_terms_have_one_text() -> None:
    one = placement_of(
        Requires(memory="1Gi", labels={"a": "1", "b": "2"}), [Limit("x", 1), Limit("y", 2)], None
    )
    other = placement_of(
        Requires(memory=1024**3, labels={"b": "2", "a": "1"}), [Limit("y", 2), Limit("x", 1)], None
    )
    assert one.text() == other.text()
    assert placement_from_text(one.text()) == one


def test_fair_share_is_between_the_keys_of_limits_unless_said_otherwise() -> None:
    limits = [Limit("customer-1", 3)]
    assert placement_of(Requires(), limits, None).flow == "customer-1"
    assert placement_of(Requires(), limits, FairShare("acme")).flow == "acme"


def test_every_mistake_is_named() -> None:
    errors = placement_errors(
        Requires(memory="lots"), [Limit("a"), Limit("b", rate="often"), Limit("b", max_running=1)]
    )
    assert [error.path for error in errors] == [
        "requires.memory",
        "limits[0]",
        "limits[1].rate",
        "limits[2].key",
    ]
