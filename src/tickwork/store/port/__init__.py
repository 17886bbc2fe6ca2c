"""What the stages ask of the store: values in, values out, one transaction per intention.

The stages know only this package. Every method raises `Unavailable` when the database cannot be reached; whoever
calls may simply call again, because repeating any of them changes nothing that was already done.
"""
