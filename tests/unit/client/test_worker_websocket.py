"""The order in which workers go round the servers."""

from tickwork.client.worker_websocket import own_order

SERVERS = ["http://a", "http://b", "http://c"]


def test_workers_with_the_same_servers_spread_over_them():
    orders = {tuple(own_order(SERVERS, f"worker-{number}")) for number in range(100)}
    assert len(orders) == 6  # every order there is
    assert all(sorted(order) == SERVERS for order in orders)


def test_a_worker_keeps_its_order():
    assert own_order(SERVERS, "host-7") == own_order(SERVERS, "host-7")
