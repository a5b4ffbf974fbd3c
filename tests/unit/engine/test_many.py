"""Ranks of many θ: what is worked out once must be right for all of them."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import expit

import exactregion as er
from exactregion.data.sample import Sample
from exactregion.errors import ExactRegionError
from exactregion.kernels import Gaussian

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = RNG.random(60) < expit(X[:, 0])


class Lapsing(er.models.Logistic):
    """A logistic curve between 5 and 95 %: its gradient depends on θ, unlike its parent's."""

    def inverse_link(self, eta):
        return 0.05 + 0.9 * expit(eta)

    def logit_slope(self, eta):
        p = self.inverse_link(eta)
        return 0.9 * expit(eta) * expit(-eta) / (p * (1 - p))


def test_a_rank_does_not_depend_on_what_else_is_asked():
    """A subclass of a model with a constant gradient need not have one."""
    region = er.ConfidenceRegion(Lapsing(), statistic="score", n_resamples=39, rng=0).fit(X, Y)
    theta = RNG.normal(size=(50, 3))
    assert region.rank(theta).tolist() == [region.rank(one) for one in theta]
    er.models.check_model(Lapsing(), X)


def test_a_promise_of_a_constant_gradient_is_checked():
    class Wrong(Lapsing):
        has_constant_gradient = True

    with pytest.raises(ExactRegionError, match="must be the same for every θ"):
        er.models.check_model(Wrong(), X)


def test_a_callable_that_cannot_be_hashed_is_a_statistic():
    @dataclass
    class Surprises:
        limit: float = 0.5

        def __call__(self, labels, p, X):
            return ((labels > 0) != (p > self.limit)).sum(axis=1)

    region = er.ConfidenceRegion("logistic", statistic=Surprises(), n_resamples=39, rng=0)
    assert region.fit(X, Y).rank(RNG.normal(size=(50, 3))).shape == (50,)


@pytest.mark.parametrize("accepted", [(1, 40), (1, 39)])
def test_focused_intervals_at_levels_near_one(accepted):
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0, accepted_ranks=accepted)
    table = region.fit(X[:, 0], Y).intervals()
    assert (table["lower"] < table["upper"]).all()


def test_curvature_of_many_rows_in_memory():
    p = np.random.default_rng(0).uniform(0.05, 0.95, 66_000)
    y = np.random.default_rng(1).random(66_000) < p
    ask = {"statistic": "curvature", "n_resamples": 19, "rng": 0}
    tested = er.model_test(p, p, y, **ask)
    assert tested.rank == er.calibration_test(y, p, **ask).rank


def test_kernels_with_a_rule_of_their_own_keep_it():
    class Fixed(Gaussian):
        def median_distance(self, distinct, points):
            return 7.0

    distinct = Sample.from_data(X, Y).inputs.distinct
    usual = Gaussian().settle(distinct, standardize=True).kernel.bandwidth
    assert Fixed().settle(distinct, standardize=True).kernel.bandwidth == 3.5
    assert Gaussian().settle(distinct, standardize=True).kernel.bandwidth == usual


def test_doses_in_small_units_have_poles_too():
    """The ED50 of a flat curve is open, in moles as in millimoles."""
    rng = np.random.default_rng(3)
    doses, dead = rng.normal(size=30), rng.random(30) < 0.5
    for unit in (1e-10, 1.0):
        region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0).fit(doses * unit, dead)
        found = region.functional(lambda th: -th[0] / th[1], joint=True)
        assert found.status == "unbounded"
