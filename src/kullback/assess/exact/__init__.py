"""Learning coefficients in exact arithmetic."""
