"""HTTP and nothing else: reads requests, asks the node, writes answers. No rules, no SQL."""
