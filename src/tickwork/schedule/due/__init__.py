"""Computes due times: calendar, time zones, and the next due time of a schedule."""
