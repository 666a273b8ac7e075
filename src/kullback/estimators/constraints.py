"""Which values a parameter may have: scikit-learn's own checks, which are private to it, or ours where they are gone.

This is the only place that imports what is private to scikit-learn.
"""

try:
    from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
except ImportError:
    from kullback.estimators._plain_constraints import Interval, StrOptions, validate_parameter_constraints
try:
    from sklearn.utils.validation import _check_sample_weight as check_sample_weight
except ImportError:
    from kullback.estimators._plain_constraints import check_sample_weight

__all__ = ["Interval", "StrOptions", "check_sample_weight", "validate_parameter_constraints"]
