"""How far a fitted model is from the truth, and how sure that is."""

from kullback.assess._betting import BettingSequence
from kullback.assess._race import Race, race
from kullback.assess._select import Selection, select
from kullback.assess._tune import Tuning, tune
from kullback.assess._tuner import Tuner

__all__ = ["BettingSequence", "Race", "Selection", "Tuner", "Tuning", "race", "select", "tune"]
