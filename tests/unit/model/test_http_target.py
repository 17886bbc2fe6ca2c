"""What the URL and the headers of an HTTP job may look like."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yarl import URL

from tickwork.model.http_target import HEADERS_MAX_BYTES, HttpTarget, target_errors

GOOD_URLS = """
https://example.com http://example.com/ HTTPS://EXAMPLE.COM/Path https://example.com:8443/a/b?c=d&e=%2F
https://example.com. https://a_b.example.com/ http://localhost:8080/ http://192.0.2.1/ http://[2001:db8::1]:80/x
https://xn--bcher-kva.example/ https://example.com?q=1 https://example.com/a@b?mail=a@b http://3com.com/
https://my-service.default.svc/ http://[::ffff:192.0.2.1]/ https://example.com/{braces}|'quotes'
"""
BAD_URLS = {
    "": "must begin with http:// or https://",
    "example.com": "must begin with http:// or https://",
    "//example.com/": "must begin with http:// or https://",
    "http:/example.com/": "must begin with http:// or https://",
    "ftp://example.com/": "must begin with http:// or https://",
    "file:///etc/passwd": "must begin with http:// or https://",
    "gopher://example.com/": "must begin with http:// or https://",
    "javascript:alert(1)": "must begin with http:// or https://",
    "http://user@example.com/": "user name or password",
    "http://user:secret@example.com/": "user name or password",
    "http://example.com:@127.0.0.1/": "user name or password",
    "http://example.com\\@127.0.0.1/": "is not allowed in a URL",
    "http://exa mple.com/": "is not allowed in a URL",
    "http://example.com/\r\nHost: x": "is not allowed in a URL",
    "http://example.com/\x00": "is not allowed in a URL",
    "http://bücher.example/": "is not allowed in a URL",
    "http://\uff11\uff12\uff17.0.0.1/": "is not allowed in a URL",
    "http://example.com/#top": "fragment",
    "http://example.com#@127.0.0.1/": "fragment",
    "http://": "is not a host name",
    "http:///path": "is not a host name",
    "http://:80/": "is not a host name",
    "http://.example.com/": "is not a host name",
    "http://a..b/": "is not a host name",
    "http://example.com../": "is not a host name",
    "http://-a.example/": "is not a host name",
    "http://%6c%6f%63%61%6c/": "is not a host name",
    "http://127.0.0.1%2f@x/": "user name or password",
    f"http://{'a' * 64}.example/": "is not a host name",
    f"http://{'a.' * 130}example/": "is not a host name",
    "http://2130706433/": "is a number",
    "http://0x7f000001/": "is a number",
    "http://0x7f.0.0.1/": "is a number",
    "http://017700000001/": "is a number",
    "http://127.1/": "is a number",
    "http://127.0.0.01/": "is a number",
    "http://127.0.0.1./": "is a number",
    "http://127.0.0.256/": "is a number",
    "http://example.0x/": "is a number",
    "http://[::1/": "port",
    "http://[::1]x/": "port",
    "http://[fe80::1%25eth0]/": "is not an IPv6 address",
    "http://[]/": "is not an IPv6 address",
    "http://[127.0.0.1]/": "is not an IPv6 address",
    "http://[v1.x]/": "is not an IPv6 address",
    "http://example.com:0/": "port",
    "http://example.com:65536/": "port",
    "http://example.com:http/": "port",
    "http://example.com:/": "port",
    "http://::1/": "port",
}


@pytest.mark.parametrize("url", GOOD_URLS.split())
def test_accepts_ordinary_urls(url):
    assert target_errors(HttpTarget(url)) == []


@pytest.mark.parametrize(("url", "message"), BAD_URLS.items())
def test_refuses_a_url_that_could_be_read_in_two_ways(url, message):
    (error,) = target_errors(HttpTarget(url))
    assert error.path == "http.url"
    assert message in error.message


@given(st.text(alphabet="htps:/@[]#?\\.%0x127ab-_ \r\n", max_size=30).map(lambda text: "http://" + text))
def test_an_accepted_url_has_the_host_that_aiohttp_will_connect_to(url):
    if not target_errors(HttpTarget(url)):
        parsed = URL(url, encoded=True)
        assert parsed.raw_user is None
        assert url.lower().startswith((f"http://{parsed.raw_host}", f"http://[{parsed.raw_host}]"))


def test_names_every_bad_header_and_the_fix():
    headers = {
        "Webhook-Signature": "forged",
        "tickwork-attempt": "1",
        "HOST": "internal",
        "Content-Length": "0",
        "Transfer-Encoding": "chunked",
        "Proxy-Authorization": "x",
        "bad name": "x",
        "x\r\ny": "x",
        "": "x",
        "x-split": "a\r\nHost: b",
        "x-nul": "\x00",
        "x-accent": "é",
    }
    errors = target_errors(HttpTarget("https://example.com", headers=headers))
    assert [error.path for error in errors] == [f"http.headers.{name}" for name in headers]
    assert [error.message for error in errors] == (
        ["is set by Tickwork"] * 6
        + ["is not a header name"] * 3
        + ["must be one line of printable ASCII"] * 3
    )


def test_accepts_the_headers_that_targets_ask_for():
    headers = {
        "Authorization": "Bearer a.b-c_d~e+f/g==",
        "X-Api-Key": "k",
        "Accept": "*/*",
        "Cookie": "a=b\tc",
    }
    assert target_errors(HttpTarget("https://example.com", headers=headers)) == []


def test_refuses_headers_that_no_server_would_take():
    (error,) = target_errors(HttpTarget("https://example.com", headers={"x": "y" * HEADERS_MAX_BYTES}))
    assert error.path == "http.headers"
    assert str(HEADERS_MAX_BYTES) in error.message
