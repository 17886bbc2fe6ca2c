"""The worker: runs the attempts that servers hand over and reports their outcomes. Never touches the database."""
