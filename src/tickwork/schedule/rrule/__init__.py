"""RRULE of iCalendar (RFC 5545)."""
