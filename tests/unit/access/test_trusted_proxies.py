"""Whose headers are believed about where a request came from."""

from tickwork.access.trusted_proxies import RequestOrigin, TrustedProxies

FORWARDED = {
    b"host": b"10.0.0.5:8080",
    b"x-forwarded-for": b"198.51.100.9, 203.0.113.7, 10.0.0.2",
    b"x-forwarded-proto": b"https",
    b"x-forwarded-host": b"ops.example",
    b"x-forwarded-prefix": b"/tickwork/",
}


def test_a_trusted_proxy_is_believed_up_to_the_first_address_that_is_not() -> None:
    origin = TrustedProxies(["10.0.0.0/8"]).origin("10.0.0.1", "http", FORWARDED)
    assert origin == RequestOrigin("203.0.113.7", "https", "ops.example", "/tickwork")


def test_nobody_else_is_believed() -> None:
    origin = TrustedProxies(["10.0.0.0/8"]).origin("192.0.2.1", "http", FORWARDED)
    assert origin == RequestOrigin("192.0.2.1", "http", "10.0.0.5:8080", "")


def test_values_that_would_break_a_cookie_are_ignored() -> None:
    bad = {b"host": b"a", b"x-forwarded-prefix": b"/x; Domain=evil", b"x-forwarded-host": b"a b"}
    assert TrustedProxies(["::1/128"]).origin("::1", "https", bad) == RequestOrigin("::1", "https", "a", "")


def test_a_peer_without_an_address_is_not_trusted() -> None:
    assert TrustedProxies(["10.0.0.0/8"]).origin("", "http", FORWARDED).address == ""
