"""How far a fitted model is from the truth, and how sure that is."""

__all__: list[str] = []
