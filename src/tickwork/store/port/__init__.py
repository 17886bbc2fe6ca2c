"""What the stages ask of the store, as protocols: values in, values out, one transaction per intention.

The stages know only this package. Every method raises `Unavailable` when the database cannot be reached. The caller can
repeat the call: repeating a method changes nothing that it already did.
"""
