"""Which statements a node sends."""

from tickwork.node import Node


def watch_statements(node: Node, *, vital: bool = False) -> list[str]:
    """The statements sent on the node's open connections from now on, as they come. `vital`: on those that renew
    leases."""
    seen: list[str] = []
    database = node._vital if vital else node._database
    for holder in database._pool._holders:  # type: ignore[attr-defined]
        if holder._con is not None:
            holder._con.add_query_logger(lambda record: seen.append(record.query))
    return seen
