"""Models of targets given inputs: what their page shows."""

from kullback.report.conditional._answers import Target, describe_expected, targets_of
from kullback.report.conditional._sections import conditional_sections, draw_conditional

__all__ = ["Target", "conditional_sections", "describe_expected", "draw_conditional", "targets_of"]
