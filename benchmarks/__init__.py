"""Speed, as ratios to other libraries in one run."""
