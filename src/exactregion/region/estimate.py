"""The estimate that is shown: maximum likelihood where it is finite, else most compatible."""

from __future__ import annotations

from exactregion._typing import FloatArray
from exactregion.region.fitted import FittedRegion
from exactregion.region.outline import joint_far_members, outline_of
from exactregion.region.window import maximum_likelihood

__all__ = ["MAXIMUM_LIKELIHOOD", "MOST_COMPATIBLE", "estimate_of", "likelihood_estimate"]

MAXIMUM_LIKELIHOOD, MOST_COMPATIBLE = "maximum likelihood", "most compatible"


def estimate_of(fitted: FittedRegion) -> tuple[FloatArray, str]:
    """Return the estimate, and which kind it is.

    The maximum of the likelihood comes first because it does not move with the seed.
    """
    likely = likelihood_estimate(fitted)
    if likely is not None:
        return likely, MAXIMUM_LIKELIHOOD
    return outline_of(fitted).estimate, MOST_COMPATIBLE


def likelihood_estimate(fitted: FittedRegion) -> FloatArray | None:
    """Return the maximum-likelihood θ, once per fit; None where it is not finite."""

    def find() -> FloatArray | None:
        far = joint_far_members(fitted)
        if far is not None and far.separation is not None:
            return None
        return maximum_likelihood(fitted.model, fitted.sample)

    return fitted.cached("likelihood estimate", find)
