"""The options that say where a job can run, how many at once, and whose share it uses."""

from typing import Any

import click

from tickwork.cli.value import label, resource

_NAMED = ("cpu", "memory", "storage", "gpu")  # the other resources are the user's own


def limit(text: str) -> dict[str, Any]:
    key, equals, values = text.rpartition("=")
    limits: dict[str, Any] = {"key": key}
    for value in values.split(","):
        limits["rate" if "/" in value else "max_running"] = value.strip()
    running = limits.get("max_running", "1")
    if not (equals and key and running.isdecimal()):
        raise click.BadParameter(
            f"{text!r} is not a limit; write KEY=MAX_RUNNING, KEY=RATE or both, such as customer-42=3,100/1m"
        )
    return limits | {"max_running": int(running)} if "max_running" in limits else limits


def fair_share(text: str) -> dict[str, Any]:
    key, equals, weight = text.rpartition("=")
    if not equals:
        return {"key": text}
    try:
        return {"key": key, "weight": float(weight)}
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a share; write KEY or KEY=WEIGHT, such as acme=2"
        ) from None


OPTIONS = (
    click.option(
        "--require",
        "resources",
        type=resource,
        multiple=True,
        metavar="NAME=AMOUNT",
        help="What a worker must have free: cpu=1, memory=512Mi, gpu=1, or a name of your own.",
    ),
    click.option(
        "--require-label",
        "labels",
        type=label,
        multiple=True,
        metavar="NAME=VALUE",
        help="What a worker must be, such as region=eu.",
    ),
    click.option(
        "--limit",
        "limits",
        type=limit,
        multiple=True,
        metavar="KEY=LIMIT",
        help="No more of a key at once, or in a time: customer-42=3, customer-42=3,100/1m.",
    ),
    click.option(
        "--fair-share",
        type=fair_share,
        metavar="KEY[=WEIGHT]",
        help="Whose share of the queue it uses, and how large that is.",
    ),
)


def requires(resources: tuple[tuple[str, float], ...], labels: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The field of a job request; empty when nothing is required."""
    amounts = dict(resources)
    custom = {name: amounts.pop(name) for name in [*amounts] if name not in _NAMED}
    given = {**amounts, "custom": custom, "labels": dict(labels)}
    return {name: value for name, value in given.items() if value}
