"""Pictures of flows, objectives, balls, of what models have learned and what they predict, drawn with matplotlib.

Each function draws on the Axes it is given, or on new ones, and returns them. Nothing here touches pyplot or
changes a setting of matplotlib.
"""

from kullback.plots._automaton import plot_automaton
from kullback.plots._balls import plot_balls
from kullback.plots._bands import plot_bands, plot_probabilities, plot_sets
from kullback.plots._calibration import plot_coverage, plot_pit, plot_reliability, plot_residuals
from kullback.plots._coefficient import plot_coefficient
from kullback.plots._colors import colors_of
from kullback.plots._costs import plot_costs
from kullback.plots._criteria import plot_criteria
from kullback.plots._effective_size import plot_effective_size
from kullback.plots._eigenvalues import plot_eigenvalues
from kullback.plots._ellipses import plot_ellipses
from kullback.plots._flows import plot_flow
from kullback.plots._forecast import plot_forecast
from kullback.plots._images import plot_images
from kullback.plots._latents import plot_latents
from kullback.plots._learning import plot_learning
from kullback.plots._levels import plot_levels
from kullback.plots._marginals import plot_marginal
from kullback.plots._matrix import plot_matrix
from kullback.plots._mean_field import plot_mean_field
from kullback.plots._pareto_k import plot_pareto_k
from kullback.plots._raster import plot_raster, unit_lags
from kullback.plots._refits import plot_refits
from kullback.plots._responsibilities import plot_responsibilities
from kullback.plots._search import plot_search
from kullback.plots._states import plot_states
from kullback.plots._stream_band import plot_stream_band
from kullback.plots._style import COLORS, panels, save
from kullback.plots._transitions import plot_transitions
from kullback.plots._usage import plot_usage

__all__ = [
    "COLORS",
    "colors_of",
    "panels",
    "plot_automaton",
    "plot_balls",
    "plot_bands",
    "plot_coefficient",
    "plot_costs",
    "plot_coverage",
    "plot_criteria",
    "plot_effective_size",
    "plot_eigenvalues",
    "plot_ellipses",
    "plot_flow",
    "plot_forecast",
    "plot_images",
    "plot_latents",
    "plot_learning",
    "plot_levels",
    "plot_marginal",
    "plot_matrix",
    "plot_mean_field",
    "plot_pareto_k",
    "plot_pit",
    "plot_probabilities",
    "plot_raster",
    "plot_refits",
    "plot_reliability",
    "plot_residuals",
    "plot_responsibilities",
    "plot_search",
    "plot_sets",
    "plot_states",
    "plot_stream_band",
    "plot_transitions",
    "plot_usage",
    "save",
    "unit_lags",
]
