"""The parameters of a linear dynamical system: their names, and whether they fit together."""

from kullback.numerics import Numeric, check_covariance, check_finite

#: What can be held fixed.
PARAMETERS = (
    "transition",
    "observation",
    "transition_noise",
    "observation_noise",
    "initial_mean",
    "initial_covariance",
    "input_transition",
    "input_observation",
    "offset",
)


def check_parameters(given: dict[str, Numeric]) -> None:
    """Raise unless the parameters fit together; say which of them does not."""
    for name in ("transition", "observation"):
        if given[name].ndim != 2:
            raise ValueError(f"{name} has shape {given[name].shape}: it must be a matrix.")
    n, q = given["observation"].shape
    inputs = given.get("input_transition", given.get("input_observation"))
    m = inputs.shape[-1] if inputs is not None and inputs.ndim == 2 else 1
    shapes = dict(zip(PARAMETERS, ((q, q), (n, q), (q, q), (n, n), (q,), (q, q), (q, m), (n, m), (n,)), strict=True))
    for name, value in given.items():
        if value.shape != shapes[name]:
            raise ValueError(
                f"{name} has shape {value.shape}: with {q} states and {n} outputs, as observation has, "
                f"it must be {shapes[name]}."
            )
        check_finite(name, value)
    for name in ("transition_noise", "observation_noise", "initial_covariance"):
        check_covariance(name, given[name])
