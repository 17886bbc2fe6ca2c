"""Outcome → transition, history, news."""
