"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._cost_rates import cost_rates
from kullback.assess._costs import Costs, costs
from kullback.assess._rate import Rate, RateParts, mean_field, rate, rate_gradient, rate_parts

__all__ = ["Costs", "Rate", "RateParts", "cost_rates", "costs", "mean_field", "rate", "rate_gradient", "rate_parts"]
