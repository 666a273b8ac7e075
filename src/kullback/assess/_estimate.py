"""What is estimated of a learning coefficient: a number with its bar, or a sentence why there is none."""

import dataclasses

#: What an estimate that cannot be trusted has none of.
NUMBERS = (
    "value",
    "standard_error",
    "jackknife_error",
    "chain_error",
    "anchored",
    "anchored_error",
    "wbic",
    "wbic_error",
)


@dataclasses.dataclass(frozen=True)
class EstimatedCoefficient:
    """The population coefficient at n rows, or one sentence why there is none.

    `value` is the variance form with `standard_error`, of which `jackknife_error` is due to the rows and `chain_error`
    to the draws: twice it holds the population coefficient in about 9 of 10 data sets. `anchored` is the popular form
    β(E S − S(ŵ)), which is biased upward in singular models and exact in regular ones; its error is that of the chains
    alone. Neither is the asymptotic λ. `wbic` is E S.
    """

    value: float | None
    standard_error: float | None
    jackknife_error: float | None
    chain_error: float | None
    anchored: float | None
    anchored_error: float | None
    wbic: float | None
    wbic_error: float | None
    rows: float
    parameters: int
    inverse_temperature: float
    rhat: float
    effective_draws: float
    prior: str
    problem: str | None = None

    @property
    def remark(self) -> str | None:
        """One sentence where 2λ̂ is above the number of parameters by more than chance, otherwise None."""
        if self.value is None or self.standard_error is None:
            return None
        if 2 * (self.value - 2 * self.standard_error) <= self.parameters:
            return None
        return (
            f"2λ̂ is above the number of parameters, {self.parameters}, by more than two standard errors: the prior is "
            "at odds with the data, or the posterior has several modes, so do not read it as a size."
        )

    def __str__(self) -> str:
        """Return the number at this n, what it depends on, and a remark where there is one."""
        if self.value is None:
            return str(self.problem)
        lines = [
            f"2λ̂ = {2 * self.value:.4g} ± {2 * (self.standard_error or 0):.2g} at n = {self.rows:g}, of "
            f"{self.parameters} parameters (anchored {2 * (self.anchored or 0):.4g})",
            f"prior: {self.prior}; R̂ = {self.rhat:.3f}, {self.effective_draws:.0f} effective draws",
            *([self.remark] if self.remark else []),
        ]
        return "\n".join(lines)
