"""Tables as the data of a fit: rows and sequences, here or elsewhere, and how they are prepared."""
