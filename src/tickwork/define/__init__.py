"""Turns code, a file or an API call into a stored job."""
