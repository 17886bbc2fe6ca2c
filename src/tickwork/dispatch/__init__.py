"""Due execution → leased claim: who is connected, who gets what, and what happens when they are gone."""
