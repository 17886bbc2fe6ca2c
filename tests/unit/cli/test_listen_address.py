"""Where a worker serves its metrics: on this machine only, unless a host is given."""

import click
import pytest

from tickwork.cli.option_types import listen_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("9100", ("127.0.0.1", 9100)),
        ("0", ("127.0.0.1", 0)),
        ("0.0.0.0:9100", ("0.0.0.0", 9100)),  # noqa: S104 (as an operator may ask)
        ("[::1]:9100", ("::1", 9100)),
        (":9100", ("127.0.0.1", 9100)),
    ],
)
def test_a_port_or_a_host_with_a_port(text: str, address: tuple[str, int]):
    assert listen_address(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "70000", "-1", "9100x", "²"])
def test_anything_else_is_refused(text: str):
    with pytest.raises(click.BadParameter, match="is not a port; write PORT or HOST:PORT"):
        listen_address(text)
