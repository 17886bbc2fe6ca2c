"""How one attempt is run: one file for each kind of task."""
