"""One file per scenario: what it is told (Plan), the small form of that (QUICK), and how it is run."""
