"""One file per scenario: its options (Plan), its options for a quick run (QUICK), and how it runs."""
