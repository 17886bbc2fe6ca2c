"""Which addresses HTTP jobs may call."""

from ipaddress import ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tickwork.execute.runners.http.ssrf_guard import AddressDenied, AddressPolicy, parse_network

IANA_SPECIAL_IPV4 = """
0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24
192.0.0.0/29 192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24
192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.88.99.2/32 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15
198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32
"""
IANA_SPECIAL_IPV6 = """
::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128
2001:1::3/128 2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32
2002::/16 2620:4f:8000::/48 3fff::/20 5f00::/16 fc00::/7 fe80::/10
"""
BEYOND_THE_REGISTRIES = """
168.63.129.16/32 224.0.0.0/4 239.255.255.250/32 ::/96 ::ffff:0:0:0/96 fec0::/10 ff00::/8 ff02::1/128
400::/6 4000::/3 8000::/1 ::ffff:10.0.0.0/104 ::ffff:127.0.0.0/104 ::ffff:169.254.0.0/112
64:ff9b::10.0.0.0/104 64:ff9b::169.254.169.254/128 64:ff9b::127.0.0.0/104
"""
CALLED_GLOBAL_BY_PYTHON = """
64:ff9b::a9fe:a9fe 2002:a9fe:a9fe:: ::169.254.169.254 ::ffff:0:127.0.0.1 192.0.0.8 224.0.0.1 168.63.129.16
2001:0:a9fe:a9fe:: 64:ff9b:1::a9fe:a9fe ::7f00:1 ::ffff:a9fe:a9fe
"""
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 128.0.0.0 169.253.255.255
169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0
223.255.255.255 2606:4700::1111 2a00:1450::1 2001:200::1 2003::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8
"""
METADATA = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"]

NOTHING_OPENED = AddressPolicy()


@pytest.mark.parametrize("block", (IANA_SPECIAL_IPV4 + IANA_SPECIAL_IPV6 + BEYOND_THE_REGISTRIES).split())
def test_denies_a_special_block_from_its_first_address_to_its_last(block):
    network = ip_network(block)
    assert not NOTHING_OPENED.permits(network[0])
    assert not NOTHING_OPENED.permits(network[network.num_addresses // 2])
    assert not NOTHING_OPENED.permits(network[-1])


@pytest.mark.parametrize("address", CALLED_GLOBAL_BY_PYTHON.split())
def test_denies_what_python_may_call_global(address):
    assert not NOTHING_OPENED.permits(ip_address(address))


@pytest.mark.parametrize("address", PUBLIC.split())
def test_permits_public_addresses_up_to_the_edges_of_the_special_blocks(address):
    assert NOTHING_OPENED.permits(ip_address(address))


@given(st.ip_addresses(v=4))
def test_judges_an_ipv4_address_alike_in_every_form_that_reaches_it(address):
    verdict = NOTHING_OPENED.permits(address)
    assert NOTHING_OPENED.permits(ip_address(f"::ffff:{address}")) == verdict
    assert NOTHING_OPENED.permits(ip_address(f"64:ff9b::{address}")) == verdict


@given(st.ip_addresses(v=6))
def test_permits_no_ipv6_address_that_is_neither_global_unicast_nor_a_form_of_ipv4(address):
    forms_of_ipv4 = (ip_network("64:ff9b::/96"), ip_network("::ffff:0:0/96"))
    if NOTHING_OPENED.permits(address):
        assert address in ip_network("2000::/3") or any(address in network for network in forms_of_ipv4)


def test_opens_exactly_the_networks_that_are_named():
    policy = AddressPolicy.of(["10.1.0.0/16", " fd12::/16 "])
    assert policy.permits(ip_address("10.1.255.255"))
    assert policy.permits(ip_address("::ffff:10.1.0.1"))
    assert policy.permits(ip_address("fd12::1"))
    assert not policy.permits(ip_address("10.2.0.0"))
    assert not policy.permits(ip_address("fd13::1"))
    assert not policy.permits(ip_address("127.0.0.1"))


def test_opens_loopback_but_not_the_unspecified_address():
    policy = AddressPolicy.of([], loopback=True)
    assert policy.permits(ip_address("127.0.0.1"))
    assert policy.permits(ip_address("::1"))
    assert not policy.permits(ip_address("0.0.0.0"))  # noqa: S104 (as a target, not to listen on)
    assert not policy.permits(ip_address("::"))
    assert not policy.permits(ip_address("10.0.0.1"))


@pytest.mark.parametrize("address", METADATA)
def test_a_wide_network_does_not_open_a_metadata_service(address):
    everything = AddressPolicy.of(["0.0.0.0/0", "::/0"])
    assert not everything.permits(ip_address(address))
    assert AddressPolicy.of([address]).permits(ip_address(address))


def test_says_what_was_denied_why_and_how_to_open_it():
    with pytest.raises(AddressDenied) as denied:
        NOTHING_OPENED.check("db.example", "10.0.0.7")
    assert str(denied.value) == (
        "db.example leads to 10.0.0.7, which is a private address; "
        "TICKWORK_HTTP_ALLOW does not let HTTP jobs call it"
    )


def test_judges_a_scoped_address_by_its_address():
    with pytest.raises(AddressDenied, match="fe80::1%eth0 is a link-local address"):
        NOTHING_OPENED.check("fe80::1%eth0", "fe80::1%eth0")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("10.0.0.1/8", "did you mean 10.0.0.0/8?"),
        ("fd00::1/8", "did you mean fd00::/8?"),
        ("example.com", "write it as 10.0.0.0/8"),
        ("10.0.0.0/33", "write it as 10.0.0.0/8"),
        ("", "write it as 10.0.0.0/8"),
    ],
)
def test_names_the_bad_network_and_the_fix(text, hint):
    with pytest.raises(ValueError) as error:
        parse_network(text)
    assert repr(text) in str(error.value)
    assert hint in str(error.value)
