"""The time line: past, now and future of the jobs or tasks that matter most, in one answer."""
