"""Schedules: every notation, the canonical form, due times, words and previews. Pure: no I/O."""
