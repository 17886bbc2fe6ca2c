"""Pings: what runs elsewhere is expected here, and noticed when it stays away."""
