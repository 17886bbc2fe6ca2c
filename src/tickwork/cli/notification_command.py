"""Inspect what channels are told, send it again, and set who is told of what."""

from datetime import timedelta
from typing import Any, cast

import click

from tickwork.cli.option_types import duration, past
from tickwork.cli.output import Columns, as_json, page_options
from tickwork.cli.print_or_watch_answer import prints_item, prints_list, prints_page
from tickwork.client.sync_client import Client
from tickwork.model.field_types import Page
from tickwork.model.notification_rule import RULE_NEWS, AppliedNotification, NotificationRuleView, RuleNews
from tickwork.model.notification_view import (
    DeliveryAttempt,
    MessageView,
    NotificationStatus,
    NotificationView,
)
from tickwork.model.quantities import format_duration

_COLUMNS: Columns[NotificationView] = {
    "id": lambda each: each.id,
    "channel": lambda each: each.channel,
    "status": lambda each: each.status,
    "severity": lambda each: each.severity,
    "count": lambda each: each.count,
    "what": lambda each: each.item.title,
    "when": lambda each: each.created_at,
    "error": lambda each: each.error,
}
_FIELDS: Columns[NotificationView] = {
    "id": lambda each: each.id,
    "channel": lambda each: each.channel,
    "status": lambda each: each.status,
    "kind": lambda each: each.kind,
    "severity": lambda each: each.severity,
    "what": lambda each: each.item.title,
    "count": lambda each: each.count,
    "first": lambda each: each.item.at,
    "last": lambda each: each.item.last_at,
    "execution": lambda each: each.item.execution and each.item.execution.id,
    "last execution": lambda each: each.item.last_execution and each.item.last_execution.id,
    "created": lambda each: each.created_at,
    "due": lambda each: each.due_at,
    "message": lambda each: each.message_id,
    "attempts": lambda each: each.attempts,
    "ended": lambda each: each.ended_at,
    "error": lambda each: each.error,
}


def _attempts(message: MessageView) -> str:
    return "\n".join(
        f"{each.attempt} {each.outcome or 'running'} {_error(each)}".rstrip() for each in message.attempts
    )


def _error(attempt: DeliveryAttempt) -> str:
    return f"{attempt.error.type}: {attempt.error.message}" if attempt.error else ""


_MESSAGE: Columns[MessageView] = {
    "id": lambda each: each.id,
    "channel": lambda each: each.channel,
    "status": lambda each: each.status,
    "title": lambda each: each.content and each.content.title,
    "body": lambda each: each.content and each.content.body,
    "created": lambda each: each.created_at,
    "ended": lambda each: each.ended_at,
    "attempts": _attempts,
    "answer": lambda each: as_json(each.answer),
}


def _scope(rule: NotificationRuleView) -> str:
    if rule.tag is not None:
        return f"tag {rule.tag}"
    return f"queue {rule.queue}" if rule.queue is not None else "all"


_RULE_COLUMNS: Columns[NotificationRuleView] = {
    "rule": lambda rule: rule.name,
    "of": _scope,
    "on": lambda rule: rule.on,
    "to": lambda rule: rule.to,
    "dead letters above": lambda rule: rule.dead_letters_above,
    "stuck after": lambda rule: (
        None if rule.stuck_after is None else format_duration(timedelta(seconds=rule.stuck_after))
    ),
    "changed": lambda rule: rule.changed_at,
}
_APPLIED_COLUMNS: Columns[AppliedNotification] = {
    "on": lambda each: each.on,
    "channel": lambda each: each.channel,
    "told": lambda each: "yes" if each.told else "no",
    "why": lambda each: each.why,
}


@click.group()
def command() -> None:
    """Inspect what channels are told, send it again, and set who is told of what."""


@command.command("list")
@click.option("--channel", metavar="NAME", help="Only of this channel.")
@click.option("--kind", help="Only of this kind of event, such as execution.failed.")
@click.option("--status", type=click.Choice([status.value for status in NotificationStatus]))
@click.option(
    "--since", type=past, metavar="TIME|AGE", help="No earlier than: 2026-01-31T09:00, or 2h (ago)."
)
@click.option("--until", type=past, metavar="TIME|AGE", help="No later than; as --since.")
@page_options
@prints_list(_COLUMNS)
def list_(client: Client, **wanted: Any) -> Page[NotificationView]:
    """List what channels are told, latest first."""
    return client.list_notifications(**wanted)


@command.command()
@click.argument("notification_id", metavar="ID")
@prints_item(_FIELDS)
def get(client: Client, notification_id: str) -> NotificationView:
    """Show a notification in full."""
    return client.get_notification(notification_id)


@command.command()
@click.argument("notification_id", metavar="ID")
@prints_item(_MESSAGE)
def message(client: Client, notification_id: str) -> MessageView:
    """Show the message that tells a notification: what is sent, each attempt to deliver it, and the answer."""
    return client.get_notification_message(notification_id)


@command.command()
@click.argument("notification_id", metavar="ID")
@prints_item(_FIELDS)
def resend(client: Client, notification_id: str) -> NotificationView:
    """Send the message of a notification again, with the same id."""
    return client.resend_notification(notification_id)


@command.command("of")
@click.argument("job_id", metavar="JOB")
@prints_page(_APPLIED_COLUMNS)
def of_job(client: Client, job_id: str) -> Page[AppliedNotification]:
    """Show what is told about a job, to which channels, and why."""
    return client.get_job_notify(job_id)


@command.command()
@prints_page(_RULE_COLUMNS)
def rules(client: Client) -> Page[NotificationRuleView]:
    """List the rules: who is told of what, besides what jobs say themselves."""
    return client.list_notification_rules()


@command.command("set-rule")
@click.argument("name")
@click.option("--on", type=click.Choice(RULE_NEWS), multiple=True, required=True, help="Can be repeated.")
@click.option("--to", multiple=True, required=True, metavar="CHANNEL", help="A channel; can be repeated.")
@click.option("--tag", help="Only of jobs with this tag.")
@click.option("--queue", help="Only of this queue.")
@click.option(
    "--dead-letters-above", type=click.IntRange(0), metavar="N", help="With dead_letters: above how many."
)
@click.option(
    "--stuck-after",
    type=duration,
    metavar="DURATION",
    help="With queue_stuck: for how long nothing must have started.  [default: 10m]",
)
@prints_item(_RULE_COLUMNS)
def set_rule(
    client: Client, name: str, on: tuple[str, ...], stuck_after: timedelta | None, **options: Any
) -> NotificationRuleView:
    """Create a rule, or replace it.

    \b
    tickwork notification set-rule ops --on failed --on recovered --to ops
    tickwork notification set-rule billing --tag billing --on failed --to billing-team
    """
    seconds = None if stuck_after is None else stuck_after.total_seconds()
    return client.set_notification_rule(
        name, on=cast("tuple[RuleNews, ...]", on), stuck_after=seconds, **options
    )


@command.command("delete-rule")
@click.argument("name")
@prints_item(_RULE_COLUMNS)
def delete_rule(client: Client, name: str) -> NotificationRuleView:
    """Delete a rule."""
    return client.delete_notification_rule(name)
