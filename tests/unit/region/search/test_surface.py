"""Ends on a fitted surface: few ranks, close to those of a thorough search, never called proven."""

import numpy as np
import pytest

import exactregion as er
from exactregion.region import fitted
from exactregion.region.rays import directions, trace
from exactregion.region.search.surface import Effort, ends_on_surface
from exactregion.region.window import Window

EFFORT = Effort(rounds=4, points=8, compared=200, probes=24, margin=0.04)


def ends_over(inside, functionals, d=3, *, outlined=True, effort=EFFORT, shares=None):
    """Ends of functionals over a set of z around the origin."""
    window = Window(np.zeros(d), np.eye(d), np.tile([-np.inf, np.inf], (d, 1)))
    rng = np.random.default_rng(0)
    outline = None
    if outlined:
        along = directions(d, 40, rng)
        outline = trace(inside, window, along, first_step=1.5, look_beyond=False)
    return ends_on_surface(
        functionals, inside, window, rng, radius=1.5, effort=effort, outline=outline, shares=shares
    )


def ellipsoid(theta):
    """Half axes 1.5, 1.8 and 1.2, not along the coordinates, around a point off the origin."""
    turn = np.linalg.qr(np.array([[1.0, 2, 3], [0, 1, 1], [2, 0, 1]]))[0]
    z = (theta - [0.2, -0.1, 0.1]) @ turn / [1.5, 1.8, 1.2]
    return 1 - np.linalg.norm(z, axis=1)


def end_of_ellipsoid(a):
    turn = np.linalg.qr(np.array([[1.0, 2, 3], [0, 1, 1], [2, 0, 1]]))[0]
    return a @ [0.2, -0.1, 0.1] + np.linalg.norm((a @ turn) * [1.5, 1.8, 1.2])


def test_ends_of_an_ellipsoid():
    numbers = np.random.default_rng(1).standard_normal((6, 3))
    found = ends_over(ellipsoid, lambda theta: theta @ numbers.T)
    exact = np.array([end_of_ellipsoid(a) for a in numbers])
    assert (found.value <= exact).all()
    assert (found.value >= 0.99 * exact).all()
    assert (found.bound >= exact).all()
    assert (found.bound <= 1.05 * exact).all()
    assert found.settled.all()
    np.testing.assert_allclose((found.members * numbers).sum(axis=1), found.value)


@pytest.mark.parametrize(("is_expected", "close"), [(True, 0.98), (False, 0.94)])
def test_ends_of_a_slab_in_a_ball(is_expected, close):
    """The side of the slab bends: it is highest where it meets the ball."""

    def inside(theta):
        height = np.abs(theta[:, 0]) / (1.5 + 0.1 * theta[:, 1])
        return np.minimum(1 - height, 1 - np.linalg.norm(theta, axis=1) / 3)

    shares = (lambda theta: 1 - inside(theta)) if is_expected else None
    found = ends_over(
        inside, lambda theta: theta[:, :1] * [1.0, -1.0], outlined=False, shares=shares
    )
    # x = 1.5 + 0.1 y on x² + y² = 9
    y = (-0.3 + np.sqrt(0.3**2 + 4 * 1.01 * (9 - 1.5**2))) / (2 * 1.01)
    exact = 1.5 + 0.1 * y
    assert (found.value <= exact + 1e-9).all()
    assert (found.value >= close * exact).all()
    assert (found.bound >= 1.03 * close * exact).all()


def test_an_end_in_the_middle():
    """The largest value of a functional need not be at the boundary."""
    centre = np.array([0.3, 0.5, -0.2])
    found = ends_over(ellipsoid, lambda theta: -((theta - centre) ** 2).sum(axis=1)[:, None])
    assert -0.01 <= found.value[0] <= 0.0


def test_a_functional_alone_has_the_same_ends():
    numbers = np.random.default_rng(2).standard_normal((5, 3))
    together = ends_over(ellipsoid, lambda theta: theta @ numbers.T)
    alone = ends_over(ellipsoid, lambda theta: theta @ numbers[2:3].T)
    np.testing.assert_allclose(alone.bound[0], together.bound[2], rtol=1e-12)


def test_an_audit_finds_what_rounds_missed():
    """Without rounds the best members are those of the outline."""
    few = Effort(rounds=0, points=8, compared=200, probes=24, margin=0.0, roughness=0.001)
    numbers = np.random.default_rng(3).standard_normal((6, 3))
    found = ends_over(ellipsoid, lambda theta: theta @ numbers.T, effort=few)
    unseen = ends_over(
        ellipsoid,
        lambda theta: theta @ numbers.T,
        effort=Effort(rounds=0, points=8, compared=200, probes=0, margin=0.0),
    )
    assert not unseen.settled.any()
    assert (found.bound > unseen.bound).any()


@pytest.mark.parametrize(("n", "slopes"), [(100, 2), (60, 1)])
def test_few_ranks_find_what_populations_find(monkeypatch, n, slopes):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, slopes))
    y = rng.random(n) < 1 / (1 + np.exp(-X @ np.linspace(0.8, -0.4, slopes)))
    options = {"n_resamples": 399, "rng": 0}

    def tables():
        region = er.ConfidenceRegion("logistic", **options).fit(X, y)
        return [region.intervals(joint=joint, certify=False) for joint in (True, False)]

    quick = tables()
    monkeypatch.setattr(fitted, "FEW_OUTCOMES", np.inf)  # populations
    for few, many in zip(quick, tables(), strict=True):
        length = many["upper"] - many["lower"]
        assert (few["upper"] > many["upper"] - 0.05 * length).all()
        assert (few["lower"] < many["lower"] + 0.05 * length).all()
        assert (few["upper"] < many["upper"] + 0.05 * length).all()
        assert (few["lower"] > many["lower"] - 0.05 * length).all()
        assert few["evaluations"].sum() < many["evaluations"].sum() / 3


def test_few_ranks_of_many_data(monkeypatch):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.05, 0.95, size=400)
    y = rng.random(400) < p
    options = {"n_resamples": 99, "rng": 0, "confidence_level": 0.9}
    thorough = er.ConfidenceRegion("recalibration", **options).fit(p, y)
    expected = thorough.intervals(joint=True, certify=False)
    monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    quick = er.ConfidenceRegion("recalibration", **options).fit(p, y)
    found = quick.intervals(joint=True, certify=False)
    assert not found["certified"].any()
    assert (found["status"] == "bounded").all()
    length = expected["upper"] - expected["lower"]
    assert (np.abs(found["lower"] - expected["lower"]) < 0.1 * length).all()
    assert (np.abs(found["upper"] - expected["upper"]) < 0.1 * length).all()
    assert quick.fitted_._paths.evaluated < thorough.fitted_._paths.evaluated / 4


@pytest.mark.parametrize(
    ("model", "by_rays"),
    [("recalibration", True), ("probit", True), (er.models.Psychometric(lapse="free"), False)],
)
def test_families_that_may_have_members_far_away_are_searched_thoroughly(
    monkeypatch, model, by_rays
):
    monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    p = np.linspace(0.1, 0.9, 9)
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(p, p > 0.4)
    assert region.fitted_.ranks_take_long is by_rays


def fit_weak_slope():
    """Fit a slope that may be zero, so that an ED50 has no end."""
    rng = np.random.default_rng(38)
    X = rng.normal(size=(150, 2))
    y = rng.random(150) < 1 / (1 + np.exp(-0.55 * X[:, 0]))
    return er.ConfidenceRegion("logistic", rng=38).fit(X, y)


@pytest.mark.parametrize("takes_long", [False, True])
def test_functionals_that_are_not_linear(monkeypatch, takes_long):
    """Neither their gradients, which may vanish, nor their ends are those of a plane."""
    if takes_long:
        monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    region = fit_weak_slope()
    edge = region.estimate_[1]
    assert region.functional(lambda theta: max(theta[1] - edge, 0.0)).lower <= 0.0


@pytest.mark.parametrize("takes_long", [False, True])
def test_a_ratio_has_no_end_where_its_denominator_changes_sign(monkeypatch, takes_long):
    if takes_long:
        monkeypatch.setattr(fitted, "MANY_LABELS", 0)
    region = fit_weak_slope()
    assert region.contains([0.0288, -0.0057, 0.127])
    assert region.functional([[-1, 0, 0], [0, 1, 0]], joint=True).status == "unbounded"


def test_few_successes_among_many_rows():
    rng = np.random.default_rng(100)
    X = rng.normal(size=(5000, 2))
    X[:, 1] = X[:, 1] > 1
    y = rng.random(5000) < 1 / (1 + np.exp(6 - X @ [0.7, 0.5]))
    region = er.ConfidenceRegion("logistic", rng=0).fit(X, y)
    assert region.fitted_.ranks_take_long
    member = [-4.79887, -0.36155, -2.11913]  # of the focused set of the intercept
    assert region.functional([1.0, 0.0, 0.0], certify=False).upper > member[0]
