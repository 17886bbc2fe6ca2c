"""The options that define a job, shared by `tickwork job create` and `tickwork job edit`."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_args

import click

from tickwork.cli.command_job_options import COMMAND_OPTIONS, command_fields
from tickwork.cli.keep_options import KEEP_OPTIONS, kept_fields
from tickwork.cli.option_types import dependency, header, json_value, label, notify_entry, resource
from tickwork.model.http_target import Completion, HttpTarget
from tickwork.model.job import PRIORITIES, OnWorkerLost, UnknownTask
from tickwork.model.overlap import Overlap

_STANDARD_RESOURCES = ("cpu", "memory", "storage", "gpu")  # any other name is a custom resource


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
            f"{text!r} is not a fair share; write KEY or KEY=WEIGHT, such as acme=2"
        ) from None


def status_poll(text: str) -> Any:
    return json_value(text) if text.startswith("{") else {"every": text}


_PLACEMENT_OPTIONS = (
    click.option(
        "--require",
        "resources",
        type=resource,
        multiple=True,
        metavar="NAME=AMOUNT",
        help="A resource that the worker must have free: cpu=1, memory=512Mi, gpu=1, or your own name.",
    ),
    click.option(
        "--require-label",
        "labels",
        type=label,
        multiple=True,
        metavar="NAME=VALUE",
        help="A label that the worker must have, such as region=eu.",
    ),
    click.option("--worker", help="The name of the only worker that may run it."),
    click.option(
        "--limit",
        "limits",
        type=limit,
        multiple=True,
        metavar="KEY=LIMIT",
        help="How many with this key may run at once or start in a period: customer-42=3, customer-42=3,100/1m.",
    ),
    click.option(
        "--fair-share",
        type=fair_share,
        metavar="KEY[=WEIGHT]",
        help="The fair share of the queue that the job uses, and its weight.",
    ),
)


def requires(
    resources: tuple[tuple[str, float], ...], labels: tuple[tuple[str, str], ...], worker: str | None = None
) -> dict[str, Any]:
    """The `requires` field of a job request; empty if nothing is required."""
    amounts = dict(resources)
    custom = {name: amounts.pop(name) for name in [*amounts] if name not in _STANDARD_RESOURCES}
    given = {**amounts, "custom": custom, "labels": dict(labels), "worker": worker}
    return {name: value for name, value in given.items() if value}


Command = TypeVar("Command", bound=Callable[..., Any])

_METHODS = get_args(HttpTarget.__annotations__["method"])
_OPTIONS = (
    click.option("--name", help="A display name."),
    click.option("--task", help="The name of the task to run."),
    click.option(
        "--unknown-task",
        type=click.Choice(get_args(UnknownTask)),
        help="wait: create the job although nobody has offered its task yet.  [default: error]",
    ),
    click.option("--http", "http_url", metavar="URL", help="Call this URL instead of running a task."),
    click.option(
        "--method", type=click.Choice(_METHODS, case_sensitive=False), help="The method of the HTTP call."
    ),
    click.option(
        "--header",
        "headers",
        type=header,
        multiple=True,
        metavar="'NAME: VALUE'",
        help="A header of the HTTP call.",
    ),
    click.option(
        "--send-parents",
        is_flag=True,
        default=None,
        help="Send the results of the jobs it depends on in the body of the HTTP call, beside the payload.",
    ),
    click.option(
        "--completion",
        type=click.Choice(get_args(Completion)),
        help="callback: after its answer 202, the HTTP target reports how the execution ends.",
    ),
    click.option(
        "--target-heartbeat",
        metavar="DURATION",
        help="How often an HTTP target that reports later must report at least, such as 5m.",
    ),
    click.option(
        "--poll",
        type=status_poll,
        metavar="DURATION|JSON",
        help="After its answer 202, ask the HTTP target's status URL this often, such as 30s, or as JSON says.",
    ),
    *COMMAND_OPTIONS,
    click.option(
        "--payload",
        type=json_value,
        metavar="JSON|@FILE|-",
        help="The arguments of the task, the body of the HTTP call, or what the command reads.",
    ),
    click.option(
        "--schedule", help="When to run: '0 9 * * MON', 'every 5m', 'in 10m', a time.  [default: now]"
    ),
    click.option("--tz", "timezone", metavar="ZONE", help="Time zone of the schedule, such as Europe/Paris."),
    click.option("--queue", help="The queue to wait in."),
    click.option("--priority", type=click.Choice(PRIORITIES)),
    click.option("--retries", type=click.IntRange(0, 99), help="How often to retry after a failure."),
    click.option(
        "--retry-on",
        "only_on",
        multiple=True,
        metavar="ERROR",
        help="Retry only these errors, such as Http5xx.",
    ),
    click.option(
        "--never-retry-on", "never_on", multiple=True, metavar="ERROR", help="Never retry these errors."
    ),
    click.option("--timeout", metavar="DURATION", help="How long one attempt may take, such as 5m."),
    click.option(
        "--warn-after", metavar="DURATION", help="Tell of an attempt that runs for longer, while it does."
    ),
    click.option(
        "--start-within", metavar="DURATION", help="Skip what has not started so long after its due time."
    ),
    click.option(
        "--deadline",
        metavar="TIME|DURATION",
        help="By when it should have ended: 06:00, or 30m after the due time. The earliest starts first.",
    ),
    click.option("--on-worker-lost", type=click.Choice(get_args(OnWorkerLost))),
    click.option(
        "--overlap",
        type=click.Choice(get_args(Overlap)),
        help="What to do if the previous execution has not ended.",
    ),
    *_PLACEMENT_OPTIONS,
    click.option(
        "--depends-on",
        type=dependency,
        multiple=True,
        metavar="JOB[:failure|:any]|JSON",
        help="Run after this job has completed, with :failure if it failed, with :any after it has ended.",
    ),
    click.option("--tag", "tags", multiple=True, help="A tag; can be repeated."),
    click.option("--description", help="What the job is for."),
    click.option("--owner", help="Who looks after the job: a team or a person."),
    click.option("--heartbeat-url", metavar="URL", help="Call this URL by GET after each success."),
    click.option(
        "--notify",
        type=notify_entry,
        multiple=True,
        metavar="KIND,…=CHANNEL,…",
        help="Tell channels of the job, such as failed,recovered=ops; failed= silences rules. Can be repeated.",
    ),
    *KEEP_OPTIONS,
)


def definition_options(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def definition_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a job request that were given."""
    given = command_fields({name: value for name, value in options.items() if value not in (None, ())})
    target = {
        "url": given.pop("http_url", None),
        "method": given.pop("method", None),
        "headers": dict(given.pop("headers", ())),
        "send_parents": given.pop("send_parents", None),
        "completion": given.pop("completion", None),
        "heartbeat": given.pop("target_heartbeat", None),
        "poll": given.pop("poll", None),
    }
    if any(target.values()):
        given["http"] = {name: value for name, value in target.items() if value}
    needs = requires(given.pop("resources", ()), given.pop("labels", ()), given.pop("worker", None))
    if needs:
        given["requires"] = needs
    if kept := kept_fields(given):
        given["retention"] = kept
    retry: dict[str, Any] = {name: given.pop(name) for name in ("only_on", "never_on") if name in given}
    if "retries" in given:
        retry["max_attempts"] = given.pop("retries") + 1
    return given | {"retry": retry} if retry else given
