"""Pictures of flows, objectives, balls and ellipses, drawn with matplotlib.

Each function draws on the Axes it is given, or on new ones, and returns them. Nothing here touches pyplot or
changes a setting of matplotlib.
"""

from kullback.plots._balls import plot_balls
from kullback.plots._ellipses import plot_ellipses
from kullback.plots._flows import plot_flow
from kullback.plots._levels import plot_levels
from kullback.plots._style import COLORS, panels, save

__all__ = ["COLORS", "panels", "plot_balls", "plot_ellipses", "plot_flow", "plot_levels", "save"]
