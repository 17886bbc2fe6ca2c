"""The private PostgreSQL of the data folder."""
