"""Mixtures of two densities."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit

import exactregion as er
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models import GaussianMixture, LaplaceMixture, Logistic, Mixture, Psychometric

LOCATION = {LaplaceMixture: stats.laplace, GaussianMixture: stats.norm}
KINDS = pytest.mark.parametrize("kind", LOCATION, ids=lambda kind: kind.__name__)
X = np.linspace(-3, 3, 13)
THETA = np.array([[0.3, 0.7], [0.5, 1.0], [0.9, 4.0]])


def bayes(p, positive, negative):
    """Equation 9 of the paper, as a probability."""
    return p * positive / (p * positive + (1 - p) * negative)


def twin(kind, locations=(1.0, -1.0)):
    """A location mixture as a Mixture."""
    density, (plus, minus) = LOCATION[kind], locations
    return Mixture(density, density, {"loc": plus}, {"loc": minus}, shared=("scale",))


# --- known locations ------------------------------------------------------------------------------


@KINDS
@pytest.mark.parametrize("locations", [(1.0, -1.0), (-0.5, 2.0), (3, 1)])
def test_formula(kind, locations):
    model, density = kind(locations), LOCATION[kind]
    for p, scale in THETA:
        expected = bayes(
            p, density.pdf(X, locations[0], scale), density.pdf(X, locations[1], scale)
        )
        np.testing.assert_allclose(model.probabilities([p, scale], X), expected, rtol=1e-12)


@KINDS
def test_names_and_bounds(kind):
    model = kind()
    assert model.parameter_names == ("p", "scale")
    assert model.bounds == ((0.0, 1.0), (0.0, np.inf))
    assert model.bind(["dose"]) is model


@KINDS
def test_mixture_of_the_same_densities_agrees(kind):
    model, same = kind((0.5, -2.0)), twin(kind, (0.5, -2.0))
    assert same.parameter_names == model.parameter_names
    np.testing.assert_allclose(
        same.probabilities(THETA, X), model.probabilities(THETA, X), rtol=1e-12
    )
    near = X[np.abs(X) <= 1]
    np.testing.assert_allclose(
        same.logit_gradient(THETA, near), model.logit_gradient(THETA, near), rtol=1e-5, atol=1e-6
    )


@KINDS
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e200])
def test_a_prior_of_zero_or_one_is_a_certainty(kind, scale):
    for model in (kind(), *([twin(kind)] if scale else [])):
        P = model.probabilities([[0.0, scale], [1.0, scale]], [-1e3, 0.0, 1e3])
        np.testing.assert_array_equal(P, [[0.0] * 3, [1.0] * 3])


@KINDS
@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-12])
def test_scale_to_zero_decides_by_the_nearer_location(kind, scale):
    P = kind((3.0, 1.0)).probabilities([0.3, scale], [-9.0, 1.0, 2.0, 2.001, 9.0])
    np.testing.assert_allclose(P, [0.0, 0.0, 0.3, 1.0, 1.0], rtol=1e-15, atol=0.0)


@KINDS
def test_scale_to_infinity_leaves_the_prior(kind):
    np.testing.assert_allclose(kind().probabilities([0.3, 1e300], X), 0.3, rtol=1e-12)


@KINDS
def test_equal_locations_leave_the_prior(kind):
    P = kind((1.0, 1.0)).probabilities([[0.3, 2.0], [0.3, 0.0]], X)
    np.testing.assert_allclose(P, 0.3, rtol=1e-15)


@KINDS
def test_gradient_is_finite_wherever_the_outcome_is_open(kind):
    """At scale 0 only the midpoint is open, and there the scale says nothing."""
    np.testing.assert_allclose(kind().logit_gradient([0.5, 0.0], [0.0]), [[4.0, 0.0]])


@KINDS
@pytest.mark.parametrize("n", [1, 2, 50])
@pytest.mark.parametrize("locations", [(1.0, -1.0), ((1.0, 0.5), (-1.0, 0.5))])
def test_rows_of_one_advantage_have_one_probability(kind, n, locations):
    model, rng = kind(locations), np.random.default_rng(n)
    inputs = np.round(rng.normal(scale=2, size=(n, model.width)), 1)  # unsorted, with duplicates
    theta = [[p, scale] for p in (0.0, 1e-300, 0.3, 1.0) for scale in (0.0, 1e-12, 0.7, 1e200)]
    rows, which = model.distinct_rows(inputs)
    assert len(rows) == len(np.unique(model.advantage(inputs)))
    shared = model.probabilities(theta, rows)[:, which]
    np.testing.assert_array_equal(shared, model.probabilities(theta, inputs))


def test_a_subclass_may_tell_rows_of_one_advantage_apart():
    class Other(LaplaceMixture):
        def evaluate(self, theta, X):
            return super().evaluate(theta, X) / (1 + np.abs(X))

    assert Other().distinct_rows(X) is None


def test_gaussian_mixture_is_logistic_regression():
    plus, minus, (p, scale) = 1.5, -0.5, (0.3, 0.8)
    theta = [logit(p) + (minus**2 - plus**2) / (2 * scale**2), (plus - minus) / scale**2]
    expected = Logistic().probabilities(theta, X)
    np.testing.assert_allclose(
        GaussianMixture((plus, minus)).probabilities([p, scale], X), expected, rtol=1e-12
    )
    free = Mixture(stats.norm, stats.norm, shared=("scale",))
    np.testing.assert_allclose(free.probabilities([p, scale, plus, minus], X), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "x", "scale", "log_ratio"),
    [
        (GaussianMixture, 1e12, 1e6, 2.0),
        (GaussianMixture, 1e200, 1e100, 2.0),
        (LaplaceMixture, 1e17, 2.0, 1.0),
        (LaplaceMixture, 1e300, 2.0, 1.0),
    ],
)
def test_inputs_far_from_both_locations(kind, x, scale, log_ratio):
    expected = expit([-log_ratio, log_ratio])
    np.testing.assert_allclose(kind().probabilities([0.5, scale], [-x, x]), expected, rtol=1e-9)


@KINDS
@pytest.mark.parametrize(
    "locations",
    [
        (1.0,),
        3.0,
        (0.0, 1.0, 2.0),
        ("a", "b"),
        (np.nan, 0.0),
        ((0.0, 1.0), (2.0,)),
        ((), ()),
        [[(0.0,)], [(1.0,)]],
    ],
)
def test_locations_that_are_no_pair(kind, locations):
    with pytest.raises(er.ExactRegionError, match="'locations' parameter"):
        kind(locations).probabilities([0.5, 1.0], [0.0])


@pytest.mark.parametrize(
    "model",
    [LaplaceMixture(), GaussianMixture(), twin(LaplaceMixture)],
    ids=lambda m: type(m).__name__,
)
class TestArguments:
    def test_one_column(self, model):
        message = f"'X' parameter must have one column for {type(model).__name__}. Got 2 instead"
        with pytest.raises(InvalidValueError, match=message):
            model.probabilities([0.5, 1.0], np.zeros((3, 2)))

    @pytest.mark.parametrize(
        ("theta", "message"),
        [
            ([1.5, 1.0], "must have a p between 0 and 1. Got 1.5 instead"),
            ([-0.5, 1.0], "must have a p between 0 and 1. Got -0.5 instead"),
            ([0.5, -1.0], r"must have a scale between \S+ and inf. Got -1 instead"),
            ([0.5, np.inf], "must hold finite numbers. Got inf at index 1"),
        ],
    )
    def test_theta_outside_the_bounds(self, model, theta, message):
        with pytest.raises(InvalidValueError, match=message):
            model.probabilities(theta, X)

    def test_core_of_a_psychometric_function_names_its_parameter(self, model):
        with pytest.raises(
            InvalidValueError, match=r"must have a scale between \S+ and inf. Got -1"
        ):
            Psychometric(model).probabilities([0.5, -1.0, 0.1], X)


def test_region_of_the_papers_experiment():
    rng = np.random.default_rng(5)
    y = rng.random(200) < 0.5
    x = rng.laplace(np.where(y, 1.0, -1.0), 1.0)
    regions = [
        er.ConfidenceRegion(model, n_resamples=39, rng=1).fit(x, y)
        for model in (LaplaceMixture(), twin(LaplaceMixture))
    ]
    theta = [[0.5, 1.0], [0.45, 1.2], [0.1, 1.0], [0.5, 20.0]]
    assert regions[0].contains(theta)[0]
    assert not regions[0].contains(theta)[2:].any()
    np.testing.assert_array_equal(regions[0].rank(theta), regions[1].rank(theta))


# --- any densities --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "names", "theta", "positive", "negative"),
    [
        (
            Mixture(stats.norm, stats.norm),
            ("p", "positive_loc", "positive_scale", "negative_loc", "negative_scale"),
            [0.4, 1.0, 0.5, -1.0, 2.0],
            stats.norm(1.0, 0.5),
            stats.norm(-1.0, 2.0),
        ),
        (
            Mixture(stats.t, stats.t, shared=("df", "scale")),
            ("p", "df", "scale", "positive_loc", "negative_loc"),
            [0.4, 3.0, 0.5, 1.0, -1.0],
            stats.t(3.0, 1.0, 0.5),
            stats.t(3.0, -1.0, 0.5),
        ),
        (
            Mixture(stats.t, stats.norm, {"df": 2.5}, {"loc": 0.0}, shared=("scale",)),
            ("p", "scale", "positive_loc"),
            [0.4, 0.5, 1.0],
            stats.t(2.5, 1.0, 0.5),
            stats.norm(0.0, 0.5),
        ),
        (
            Mixture(stats.gamma, stats.gamma, {"loc": -5.0}, {"loc": -5.0}, shared=("scale",)),
            ("p", "scale", "positive_a", "negative_a"),
            [0.4, 0.5, 12.0, 8.0],
            stats.gamma(12.0, -5.0, 0.5),
            stats.gamma(8.0, -5.0, 0.5),
        ),
        (
            Mixture(
                stats.beta,
                stats.uniform,
                {"loc": -4.0, "scale": 8.0},
                {"loc": -4.0, "scale": 8.0},
            ),
            ("p", "positive_a", "positive_b"),
            [0.4, 2.0, 3.0],
            stats.beta(2.0, 3.0, -4.0, 8.0),
            stats.uniform(-4.0, 8.0),
        ),
        (
            Mixture(stats.logistic, stats.cauchy, {"loc": 1, "scale": 1}, {"loc": 0, "scale": 1}),
            ("p",),
            [0.4],
            stats.logistic(1.0, 1.0),
            stats.cauchy(0.0, 1.0),
        ),
    ],
    ids=["free", "shared shape", "two families", "gamma", "beta", "prior alone"],
)
def test_shared_fixed_and_free(model, names, theta, positive, negative):
    assert model.parameter_names == names
    expected = bayes(theta[0], positive.pdf(X), negative.pdf(X))
    np.testing.assert_allclose(model.probabilities(theta, X), expected, rtol=1e-10)


def test_bounds_of_any_densities():
    model = Mixture(stats.t, stats.t, negative_fixed={"df": 3.0}, shared=("scale",))
    bounds = dict(zip(model.parameter_names, model.bounds, strict=True))
    assert bounds["p"] == (0.0, 1.0)
    assert bounds["positive_loc"] == bounds["negative_loc"] == (-np.inf, np.inf)
    low, high = bounds["scale"]
    assert 0 <= low < 1e-300
    assert high == np.inf


def test_far_tails_keep_the_density_ratio():
    P = twin(GaussianMixture).probabilities([0.5, 10.0], [-100.0, 100.0, 5000.0])
    np.testing.assert_allclose(P, expit([-2.0, 2.0, 100.0]), rtol=1e-12)
    # both densities are below the smallest double here; their logarithms are not
    assert stats.norm.pdf(5000.0, 1.0, 10.0) == 0


class TestVanishingDensities:
    """Positives on [0, 2], negatives on [1, 3]: 2.5 is negative for sure, 5 tells nothing."""

    model = Mixture(
        stats.uniform, stats.uniform, {"loc": 0.0, "scale": 2.0}, {"loc": 1.0, "scale": 2.0}
    )
    x = (0.5, 1.5, 2.5, 5.0)

    def test_one_or_both_vanish(self):
        P = self.model.probabilities([[0.3], [0.9]], self.x)
        np.testing.assert_allclose(P, [[1.0, 0.3, 0.0, 0.3], [1.0, 0.9, 0.0, 0.9]], rtol=1e-15)

    def test_certain_priors_win(self):
        np.testing.assert_array_equal(
            self.model.probabilities([[0.0], [1.0]], self.x), [[0.0] * 4, [1.0] * 4]
        )

    def test_half_lines(self):
        waiting = Mixture(stats.expon, stats.gamma, {"loc": 0.0}, {"loc": 0.0, "a": 2.0})
        P = waiting.probabilities([0.3, 1.0, 1.0], [-1.0, 0.0, 1.0])
        np.testing.assert_allclose(P, [0.3, 1.0, 0.3], rtol=1e-12)


def test_scale_zero_has_no_density():
    """Bounds are promises: what they allow has probabilities, what has none they refuse."""
    with pytest.raises(er.ExactRegionError, match="'theta' parameter must have a scale"):
        twin(LaplaceMixture).probabilities([0.5, 0.0], X)


def test_a_shape_without_a_density_names_theta():
    model = Mixture(stats.gamma, stats.gamma, {"loc": 0.0}, {"loc": 0.0, "a": 1.0}, ("scale",))
    with pytest.raises(ModelError, match=r"Got nan at theta = \[0\.5, 1\.0, -2\.0\] instead"):
        model.probabilities([0.5, 1.0, -2.0], [1.0, 2.0])


@pytest.mark.parametrize(
    "density",
    [stats.poisson, stats.norm(0, 1), "norm", 3.0],
    ids=["discrete", "frozen", "str", "3"],
)
@pytest.mark.parametrize("side", ["positive", "negative"])
def test_what_is_no_density(side, density):
    pair = {"positive": stats.norm, "negative": stats.norm} | {side: density}
    with pytest.raises(InvalidTypeError, match=f"'{side}' parameter of Mixture must be a contin"):
        Mixture(**pair)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"positive_fixed": {"df": 3.0}},
            r"positive density must be of \['loc', 'scale'\]. Got 'df'",
        ),
        ({"negative_fixed": {"mean": 0}}, r"negative density must be .*'df', 'loc'.* Got 'mean'"),
        ({"shared": ("df",)}, r"positive density must be of \['loc', 'scale'\]. Got 'df' instead"),
        (
            {"shared": ("scale",), "positive_fixed": {"scale": 1.0}},
            r"must be either shared or fixed. Got \['scale'\] in both",
        ),
        (
            {"shared": ("scale", "loc"), "negative_fixed": {"scale": 1.0, "loc": 0.0}},
            r"must be either shared or fixed. Got \['loc', 'scale'\] in both",
        ),
    ],
)
def test_names_that_do_not_fit(settings, message):
    with pytest.raises(InvalidValueError, match=message):
        Mixture(stats.norm, stats.t, **settings)


def test_shared_as_a_string_is_named_as_such():
    with pytest.raises(er.ExactRegionError, match=r"'shared' parameter .*'scale'"):
        Mixture(stats.norm, stats.norm, shared="scale")


# --- several inputs -------------------------------------------------------------------------------


@KINDS
def test_regions_in_the_plane_are_those_of_the_logistic_family(kind):
    """A location mixture is logistic in its advantage, whatever the number of inputs."""
    rng = np.random.default_rng(5)
    model = kind(((1.0, 0.5), (-1.0, 0.0)))
    t = rng.uniform(-0.4, 0.4, 40)
    X = np.column_stack([t, 0.25 + 0.1 * t])  # in the order of their advantages
    y = rng.random(40) < model.probabilities([0.4, 1.2], X)
    settings = {"statistic": "score", "n_resamples": 19, "confidence_level": 0.9, "rng": 0}
    region = er.ConfidenceRegion(model, **settings).fit(X, y)
    linear = er.ConfidenceRegion("logistic", **settings).fit(model.advantage(X), y)
    for p, scale in THETA:
        assert region.rank([p, scale]) == linear.rank([logit(p), scale**-model.power])


@KINDS
def test_intervals_in_the_plane_are_proven(kind):
    rng = np.random.default_rng(5)
    model = kind(((1.0, 0.5), (-1.0, 0.0)))
    X = 1.5 * rng.normal(size=(60, 2))
    y = rng.random(60) < model.probabilities([0.4, 1.2], X)
    region = er.ConfidenceRegion(model, confidence_level=0.9, n_resamples=19, rng=0).fit(X, y)
    intervals = region.intervals(joint=True)
    assert intervals["certified"].all()
    theta = np.column_stack([rng.random(500), np.exp(rng.normal(size=500))])
    members = theta[region.contains(theta)]
    assert len(members) > 5
    assert (members >= intervals["lower"].to_numpy()).all()
    assert (members <= intervals["upper"].to_numpy()).all()


@KINDS
def test_columns_and_locations_have_the_same_number(kind):
    with pytest.raises(InvalidValueError, match="'X' parameter must have 2 columns"):
        kind(((1, 1), (0, 0))).probabilities([0.5, 1.0], X)


@pytest.mark.parametrize("fixed", [{"loc": (1, 2, 3)}, {"loc": ()}, {"loc": [[1, 2]]}])
def test_fixed_parameters_of_one_length(fixed):
    with pytest.raises(InvalidValueError, match="one number per column"):
        Mixture(stats.norm, stats.norm, fixed, {"loc": (0, 0)}, shared=("scale",))


def test_gradients_of_a_mixture_in_the_plane():
    model = Mixture(stats.norm, stats.norm, {"loc": (1, 0)}, {"loc": (0, 0)}, shared=("scale",))
    er.models.check_model(model, np.random.default_rng(2).normal(size=(15, 2)))
    twin = GaussianMixture(((1, 0), (0, 0)))
    X = np.random.default_rng(3).normal(size=(9, 2))
    found = model.logit_gradient([0.4, 1.3], X)
    np.testing.assert_allclose(found, twin.logit_gradient([0.4, 1.3], X), rtol=1e-5, atol=1e-7)
