"""The HTTP layer: reads requests, calls the services of the node and writes responses. No rules, no SQL."""
