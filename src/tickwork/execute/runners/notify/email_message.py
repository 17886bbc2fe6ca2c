"""A notification as a mail: text and HTML, with a link, and the same Message-ID at every attempt."""

import re
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from html import escape
from urllib.parse import quote

from tickwork.execute.runners.notify.render_message import Rendered, RenderedItem
from tickwork.model.channel import EmailChannel
from tickwork.model.notification_message import NotificationMessage, Severity

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._-]")
_COLOURS = {Severity.INFO: "#2563eb", Severity.WARNING: "#b45309", Severity.ERROR: "#b91c1c"}


def email_message(
    channel: EmailChannel,
    name: str,
    message: NotificationMessage,
    rendered: Rendered,
    sender: str,
    public_url: str | None,
) -> EmailMessage:
    """`name`: of the channel."""
    address = parseaddr(sender)[1]
    mail = EmailMessage(policy=SMTP)
    mail["From"] = sender
    mail["To"] = ", ".join(channel.to)
    mail["Subject"] = rendered.title
    mail["Date"] = format_datetime(message.at)
    mail["Message-ID"] = f"<{_NOT_IN_AN_ID.sub('-', message.id)}@{address.rpartition('@')[2]}>"
    mail["Auto-Submitted"] = "auto-generated"  # no answers by holiday responders
    mail["List-Unsubscribe"] = _unsubscribe(name, address, public_url)
    mail.set_content(f"{rendered.title}\n\n{rendered.text}\n\n{_footer(name)}\n")
    mail.add_alternative(_html(rendered, name), subtype="html")
    return mail


def _unsubscribe(name: str, sender: str, public_url: str | None) -> str:
    """Where the addresses of the channel are changed, and who can be asked to."""
    ask = f"<mailto:{sender}?subject={quote(f'unsubscribe from {name}')}>"
    return f"<{public_url.rstrip('/')}/channels/{quote(name)}>, {ask}" if public_url else ask


def _footer(name: str) -> str:
    return f"Sent by Tickwork to the channel {name}."


def _html(rendered: Rendered, name: str) -> str:
    alone = len(rendered.items) == 1
    items = "".join(_item(item, alone=alone) for item in rendered.items)
    more = f"<p>and {rendered.left_off} more</p>" if rendered.left_off else ""
    link = _link(rendered.url, "Open in Tickwork")
    return (
        '<!DOCTYPE html><html><body style="font-family:sans-serif;font-size:14px;color:#111827">'
        f'<h2 style="font-size:18px;border-left:4px solid {_COLOURS[rendered.severity]};padding-left:10px">'
        f"{escape(rendered.title)}</h2>{items}{more}"
        f"{f'<p>{link}</p>' if link else ''}"
        f'<p style="color:#6b7280;font-size:12px">{escape(_footer(name))}</p></body></html>'
    )


def _item(item: RenderedItem, *, alone: bool) -> str:
    title = (
        ""
        if alone
        else f'<h3 style="font-size:15px">{_link(item.url, item.title) or escape(item.title)}</h3>'
    )
    if not item.facts:
        return f'{title}<p style="white-space:pre-wrap">{escape(item.text)}</p>'
    rows = "".join(
        f'<tr><td style="color:#6b7280;padding:2px 12px 2px 0;vertical-align:top">{escape(label)}</td>'
        f'<td style="white-space:pre-wrap">{escape(value)}</td></tr>'
        for label, value in item.facts
    )
    return f"{title}<table>{rows}</table>"


def _link(url: str | None, text: str) -> str:
    return f'<a href="{escape(url)}">{escape(text)}</a>' if url else ""
