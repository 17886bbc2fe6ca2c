"""All due times of a source, one after the other."""

from collections.abc import Iterator
from heapq import merge

from tickwork.trigger.due.source import Source
from tickwork.trigger.due.union import Union


def walk(source: Source, after: int) -> Iterator[int]:
    """Those after an instant. A union is walked along its parts, so that each is asked only for its own."""
    if isinstance(source, Union):
        last = after
        for due in merge(*(walk(part, after) for part in source.parts)):
            if due > last:
                yield due
            last = due
        return
    due_next = source.next_after(after)
    while due_next is not None:
        yield due_next
        due_next = source.next_after(due_next)
