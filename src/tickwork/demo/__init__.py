"""`tickwork up --demo`: the jobs of a fictitious shop, with a week of history and a worker that goes on."""
