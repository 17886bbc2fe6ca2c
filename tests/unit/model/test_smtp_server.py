"""Mail servers as URLs, and senders of mails."""

import pytest

from tickwork.model.smtp_server import SmtpServer, is_sender, parse_smtp_url


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example", SmtpServer(host="mail.example")),
        ("smtps://mail.example", SmtpServer(host="mail.example", port=465, security="tls")),
        ("smtp+plain://127.0.0.1", SmtpServer(host="127.0.0.1", port=25, security="none")),
        (
            "smtp://me%40example.com:p%2Fass@mail.example:2525",
            SmtpServer(host="mail.example", port=2525, username="me@example.com", password="p/ass"),
        ),
        ("smtp://[::1]:25", SmtpServer(host="::1", port=25)),
    ],
)
def test_a_url_says_everything_about_a_mail_server(url, server):
    assert parse_smtp_url(url) == server


@pytest.mark.parametrize(
    "url",
    [
        "mail.example",
        "http://mail.example",
        "smtp://",
        "smtp://mail.example/path",
        "smtp://mail.example?tls=no",
        "smtp://mail.example:99999",
        "smtp+plain://me:s3cret@mail.example",
    ],
)
def test_a_bad_url_is_refused_without_its_password(url):
    with pytest.raises(ValueError, match=r"must|out of range") as raised:
        parse_smtp_url(url)
    assert "s3cret" not in str(raised.value)


def test_a_password_is_not_in_the_repr():
    assert "s3cret" not in repr(parse_smtp_url("smtp://me:s3cret@mail.example"))


@pytest.mark.parametrize("sender", ["a@b.example", "Tickwork <tickwork@example.com>", '"Ops, night" <o@x.y>'])
def test_a_sender_is_an_address_with_or_without_a_name(sender):
    assert is_sender(sender)


@pytest.mark.parametrize("sender", ["", "Tickwork", "a@b.example\nBcc: x@y.z", "<>", "a b@c.d", "a@b, c@d"])
def test_anything_else_is_no_sender(sender):
    assert not is_sender(sender)
