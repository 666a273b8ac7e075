"""The plane on which components are drawn."""

from typing import NamedTuple, Self

import numpy as np

from kullback.report._text import percent, short


class Plane(NamedTuple):
    """Two axes in the space of the columns: `places` takes rows to the plane, `shadows` Gaussians."""

    center: np.ndarray
    axes: np.ndarray  # (2, columns)
    labels: tuple[str, str]
    caption: str

    @classmethod
    def of(
        cls, names: list[str], X: np.ndarray | None, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray
    ) -> Self:
        """Return the plane of two columns, or of the two leading principal axes of more.

        The axes are those of the data, or of the model's own covariance without data, in units of each column's
        standard deviation.
        """
        n = len(names)
        if n == 2:
            labels = (short(names[0], 30), short(names[1], 30))
            return cls(np.zeros(2), np.eye(2), labels, "")
        if X is None:
            center = weights @ means
            away = means - center
            covariance = np.tensordot(weights, covariances, axes=1) + (away.T * weights) @ away
        else:
            center = np.array([np.mean(c[np.isfinite(c)]) if np.isfinite(c).any() else 0.0 for c in X.T])
            away = np.where(np.isfinite(X), X - center, 0.0)
            covariance = away.T @ away / len(X)
        scale = np.sqrt(np.diagonal(covariance))
        scale = np.where(scale > 0, scale, 1.0)
        sizes, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
        leading = vectors[:, ::-1][:, :2].T
        leading = leading * np.sign(leading[np.arange(2), np.abs(leading).argmax(axis=1)])[:, None]
        part = sizes[::-1][:2] / sizes.sum()
        first, second = (
            f"{word} principal axis ({percent(p)} of variance)" for word, p in zip(("1st", "2nd"), part, strict=True)
        )
        whose = "the model" if X is None else "the data"
        caption = f" Axes are the two leading principal axes of {whose}, with columns scaled to unit variance."
        return cls(center, leading / scale, (first, second), caption)

    def places(self, X: np.ndarray) -> np.ndarray:
        """Return where rows lie that have no missing entries."""
        return (X - self.center) @ self.axes.T

    def shadows(self, means: np.ndarray, covariances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the means and covariances that Gaussians have on the plane."""
        return (means - self.center) @ self.axes.T, self.axes @ covariances @ self.axes.T
