"""Claim → outcome: run attempts on time and say what became of them. Never touches the database."""
