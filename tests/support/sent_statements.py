"""Which statements a node sends."""

from tickwork.node import Node


def watch_statements(node: Node) -> list[str]:
    """The statements sent on the node's open connections from now on, as they come."""
    seen: list[str] = []
    for holder in node._database._pool._holders:  # type: ignore[attr-defined]
        if holder._con is not None:
            holder._con.add_query_logger(lambda record: seen.append(record.query))
    return seen
