"""Regressors and classifiers that were not fitted: their pages are tested without compiling a fit."""

import numpy as np

import kullback
from kullback.models import LinearConditional


def linear(family, coefficients, inputs=2, categories=None, points=400.0, information=None, **parameters):
    """Return a regressor with these coefficients, whose inputs have mean 1 and spread 2, or are categories."""
    regressor = kullback.Regressor(family, **parameters)
    _give_inputs(regressor, inputs, categories)
    targets = len(family) if isinstance(family, list) else 1
    regressor.n_targets_, regressor.target_is_single_ = targets, targets == 1
    regressor.target_categories_, regressor.target_total_ = np.zeros(targets, dtype=np.int64), 0
    return _give_model(regressor, coefficients, points, information)


def classifier(classes, coefficients, inputs=2, points=400.0, **parameters):
    """Return a classifier with these coefficients of log odds against the last class."""
    found = kullback.Classifier(**parameters)
    _give_inputs(found, inputs, None)
    found.classes_ = np.array(classes)
    found.target_categories_, found.target_total_ = np.array([len(classes)]), 0
    return _give_model(found, coefficients, points, None)


def _give_inputs(estimator, inputs, categories):
    kinds = np.zeros(inputs, dtype=np.int64) if categories is None else np.array(categories)
    width = int(np.sum(np.where(kinds > 0, kinds - 1, 1)))
    numbers = np.repeat(kinds == 0, np.where(kinds > 0, kinds - 1, 1))
    estimator.n_features_in_, estimator.seed_ = len(kinds), 0
    estimator.input_categories_, estimator.input_indicators_ = kinds, np.zeros(len(kinds), dtype=bool)
    estimator.input_center_, estimator.input_scale_ = np.where(numbers, 1.0, 0.0), np.where(numbers, 2.0, 1.0)
    assert len(estimator.input_center_) == width


def _give_model(estimator, coefficients, points, information):
    estimator.coefficients_ = np.atleast_2d(np.array(coefficients, dtype=float))
    estimator.n_points_seen_, estimator.n_batches_seen_, estimator.n_iter_ = points, 1, 3
    estimator.converged_, estimator.lower_bound_, estimator.lower_bounds_ = True, -1.0, [-2.0, -1.1, -1.0]
    varies = estimator._method.varies(estimator, estimator._kind)
    count = len(LinearConditional(estimator.coefficients_, estimator._kind, varies).parameters)
    estimator.information_ = np.eye(count) if information is None else information
    return estimator


def rows(count, inputs=2, seed=0):
    """Return inputs like those of the fit."""
    return 1 + 2 * np.random.default_rng(seed).normal(size=(count, inputs))
