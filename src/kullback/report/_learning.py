"""How the fit has climbed."""

from matplotlib.figure import Figure

from kullback.plots import panels, plot_learning
from kullback.report._parts import Picture, picture
from kullback.report._subject import Subject


def learning_curve(subject: Subject) -> list[Picture]:
    """Return the learning curve, if the fit has made several steps."""
    bounds = list(getattr(subject.estimator, "lower_bounds_", []))
    if len(bounds) < 2:
        return []
    of_all = subject.is_hidden_markov or subject.is_linear_system

    def draw(width: float) -> Figure:
        figure, axes = panels(width=width, height=3.2)
        axes.set_ylabel(f"log-likelihood {'of all rows' if of_all else 'per row'} (nats)")
        plot_learning(bounds, axes)
        return figure

    gain = "all rows together" if of_all else "a row on average"
    return [picture("learning", "Learning curve", f"Log-likelihood of {gain}, step by step.", draw)]
