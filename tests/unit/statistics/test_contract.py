"""A statistic and a family written in this file work everywhere, without any other file."""

import numpy as np
import pytest

import exactregion as er
from exactregion.engine import Paths, PreparedStatistic, statistics_of_many
from exactregion.engine.evaluate import WORTH_SORTING
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import Model
from exactregion.statistics import (
    STATISTICS,
    Combined,
    Discrepancy,
    FromCentre,
    Spiegelhalter,
    Statistic,
    Term,
    Whitened,
)

N = 70_000
RNG = np.random.default_rng(0)
P = RNG.uniform(0.02, 0.98, N)
Y = (RNG.random(N) < P).astype(int)


# --- a new statistic ----------------------------------------------------------------------------


class Tails(Statistic, name="tails"):
    """Squared sums of residuals in the lowest and in the highest tenth of predictions."""

    def terms(self, inputs):
        return [Term(tails, FromCentre(), bound=np.ones(2))]


def tails(candidates):
    p = candidates.probabilities
    return np.stack([p < 0.1, p > 0.9], axis=-1) * 1.0


class Cubic(Statistic):
    """Two terms: the score of a cube of p in the metric of its information, and the tails."""

    def terms(self, inputs):
        return [Term(cube, Whitened(), bound=1.0), Term(tails, FromCentre(), bound=np.ones(2))]

    def combine(self, values, expected):
        return values[0] + 0.01 * values[1]


def cube(candidates):
    return (candidates.probabilities[:, :, None] - 0.5) ** 3


TAILS = Tails()
NEW = {"one term, by name": "tails", "two terms": Cubic()}


@pytest.fixture(scope="module", autouse=True)
def registry():
    """Leave the names of statistics as they were."""
    yield
    STATISTICS.pop("tails", None)


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("contract") / "rows.parquet"
    pq.write_table(pa.table({"y": Y, "p": P}), path, row_group_size=30_011)
    return path


def outcome(result):
    return result.rank, result.statistic, result.null_distribution.tolist()


@pytest.mark.parametrize("statistic", NEW.values(), ids=NEW)
def test_a_new_statistic_has_one_answer_from_any_source(statistic, parquet, tmp_path):
    dask = pytest.importorskip("dask.array")
    settings = {"statistic": statistic, "n_resamples": 19, "rng": 1}
    in_memory = outcome(er.calibration_test(Y, P, **settings))
    assert outcome(er.calibration_test("y", "p", data=parquet, **settings)) == in_memory
    np.save(tmp_path / "p.npy", P)
    mapped = np.load(tmp_path / "p.npy", mmap_mode="r")
    assert outcome(er.calibration_test(Y, mapped, n_jobs=2, **settings)) == in_memory
    y, p = (dask.from_array(values, chunks=17_001) for values in (Y, P))
    assert outcome(er.calibration_test(y, p, **settings)) == in_memory


@pytest.mark.parametrize("statistic", NEW.values(), ids=NEW)
def test_a_new_statistic_has_one_answer_along_a_path(statistic):
    region = er.ConfidenceRegion("logistic", statistic=statistic, n_resamples=39, rng=2)
    fitted = region.fit(RNG.normal(size=60), RNG.random(60) < 0.5).fitted_
    theta = np.stack(np.meshgrid(np.linspace(-1, 1, 9), np.linspace(-4, 4, 9)), -1).reshape(-1, 2)
    prepared = PreparedStatistic.of(fitted.statistic, fitted.sample.inputs, 40)

    def evaluate(paths):
        arguments = theta, fitted.candidates, fitted.resampling, prepared
        return statistics_of_many(*arguments, batch=2**24, paths=paths)

    Z = evaluate(None)
    np.testing.assert_array_equal(evaluate(Paths(evaluated=WORTH_SORTING)), Z)
    assert len(np.unique(Z)) > 40


@pytest.mark.parametrize("statistic", NEW.values(), ids=NEW)
def test_ranks_of_a_new_statistic_are_uniform(statistic):
    ranks = []
    p = np.linspace(0.03, 0.97, 25)
    for seed in range(400):
        y = np.random.default_rng(seed).random(25) < p
        ranks.append(
            er.calibration_test(y, p, statistic=statistic, n_resamples=3, rng=seed + 10**6).rank
        )
    counts = np.bincount(ranks, minlength=5)[1:]
    # each count is binomial(400, 1/4): outside with probability 1e-6
    assert counts.min() > 60
    assert counts.max() < 145


# --- what a contract must not be ---------------------------------------------------------------


def of_terms(terms, combine=None):
    class Odd(Statistic):
        def terms(self, inputs):
            return terms(inputs) if callable(terms) else terms

    if combine is not None:
        Odd.combine = combine
    return Odd()


def evaluated(statistic, n=25):
    return er.calibration_test(Y[:n], P[:n], statistic=statistic, n_resamples=19, rng=0)


TERM = Term(tails, FromCentre(), bound=np.ones(2))


def test_terms_may_come_from_a_generator():
    once = of_terms(lambda inputs: (term for term in [TERM]))
    assert outcome(evaluated(once)) == outcome(evaluated("tails"))


@pytest.mark.parametrize(
    "terms",
    [
        TERM,
        None,
        [],
        [TERM, 3],
        [Term(tails, FromCentre, bound=np.ones(2))],
        [Term(None, FromCentre())],
    ],
    ids=["a term", "nothing", "no terms", "a number", "a class", "no columns"],
)
def test_terms_must_be_terms(terms):
    with pytest.raises(InvalidTypeError, match=r"terms must return a list of Term"):
        evaluated(of_terms(lambda inputs: terms))


@pytest.mark.parametrize("n", [25, N])
def test_several_terms_must_be_combined(n):
    with pytest.raises(InvalidTypeError, match=r"combine\(values, expected\) for its 2 terms"):
        evaluated(of_terms([TERM, TERM]), n)


@pytest.mark.parametrize("n", [25, N])
def test_combine_must_keep_the_shape(n):
    short = of_terms([TERM], lambda self, values, expected: values[0][:, :10])
    with pytest.raises(InvalidValueError, match=r"shape \(1, 20\). Got \(1, 10\)"):
        evaluated(short, n)


@pytest.mark.parametrize("bound", [np.inf, np.nan, -1.0, np.ones((2, 2))])
def test_bounds_must_be_finite_sizes(bound):
    with pytest.raises(InvalidValueError, match=r"'bound' parameter of a term must be finite"):
        evaluated(of_terms([Term(tails, FromCentre(), bound=bound)]))


def test_columns_must_keep_their_bound_and_number():
    with pytest.raises(InvalidValueError, match=r"'bound'.*at least as large as its columns, 1"):
        evaluated(of_terms([Term(tails, FromCentre(), bound=np.full(2, 0.5))]), N)
    with pytest.raises(InvalidValueError, match=r"\(1, 65536, 3\). Got \(1, 65536, 2\)"):
        evaluated(of_terms([Term(tails, FromCentre(), bound=np.ones(3))]), N)


def test_arrays_must_have_a_row_for_each_row():
    with pytest.raises(InvalidValueError, match=r"shape \(25, r\).*Got \(30, 1\)"):
        evaluated(of_terms([Term(np.ones((30, 1)), FromCentre())]))


def test_names_must_be_new_and_need_no_arguments():
    with pytest.raises(InvalidValueError, match=r"'name'.*Got 'score' instead, which is Score"):

        class Another(Statistic, name="score"):
            def terms(self, inputs):
                return [TERM]

    class Demanding(Statistic, name="demanding"):
        def __init__(self, needed):
            self.needed = needed

        def terms(self, inputs):
            return [TERM]

    try:
        with pytest.raises(InvalidValueError, match="must not use the score"):
            er.model_test(P[:25], P[:25], Y[:25], statistic="score", rng=0)
    finally:
        STATISTICS.pop("demanding")


def test_a_subclass_of_a_part_keeps_its_terms_and_its_scale():
    class Other(Discrepancy):
        def terms(self, inputs):
            return [TERM]

    class Large(Spiegelhalter):
        def combine(self, values, expected):
            return 1e6 * values[0]

    kernel = Discrepancy(bandwidth=0.3)
    ours, theirs = Combined(Other(), kernel), Combined(TAILS, kernel)
    assert outcome(evaluated(ours)) == outcome(evaluated(theirs))
    assert evaluated(Combined(Large(), Discrepancy())).statistic < 1e3


def test_expectations_are_given_only_where_they_are_used():
    seen = []

    def combine(self, values, expected):
        seen.append(expected)
        return values[0]

    for n in (25, N):
        evaluated(of_terms([Term(tails, Whitened(), bound=np.ones(2))], combine), n)
    assert seen == [[None], [None]]


def test_an_estimate_is_the_callers_to_change():
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0, confidence_level=0.9)
    region.fit(RNG.normal(size=30), RNG.random(30) < 0.5)
    first = region.estimate_
    first *= -1
    np.testing.assert_array_equal(region.estimate_, -first)


# --- a new family -------------------------------------------------------------------------------


class Hill(Model):
    """P = x^h / (x^h + K^h), the Hill curve of a dose x > 0."""

    parameter_names = ("log_K", "h")
    bounds = ((-10.0, 10.0), (0.0, 20.0))

    def evaluate(self, theta, X):
        dose = np.asarray(X, dtype=float).reshape(1, -1)
        return 1 / (1 + np.exp(-theta[:, 1:] * (np.log(dose) - theta[:, :1])))


@pytest.mark.parametrize("statistic", ["combined", "score", "discrepancy", "embedding"])
def test_a_new_family_has_one_answer_in_memory_and_along_a_path(statistic):
    dose = np.repeat([0.5, 1.0, 2.0, 4.0, 8.0], 6)
    y = np.random.default_rng(3).random(30) < dose / (dose + 2)
    er.models.check_model(Hill(), dose)
    region = er.ConfidenceRegion(Hill(), statistic=statistic, n_resamples=39, rng=0).fit(dose, y)
    theta = np.stack(np.meshgrid(np.linspace(0, 1.5, 8), np.linspace(0.5, 3, 8)), -1).reshape(-1, 2)
    together = region.rank(theta)
    assert together.tolist() == [region.evaluate(one).rank for one in theta]
    assert region.contains([np.log(2), 1.0])
    assert not region.contains([-5.0, 3.0])


def test_a_new_family_is_tested_from_any_source(tmp_path):
    dose = np.exp(RNG.normal(size=N))
    theta = np.array([np.log(2), 1.0])
    y = RNG.random(N) < Hill().probabilities(theta, dose)

    def candidate(x):
        return Hill().probabilities(theta, x)

    in_memory = outcome(er.model_test(candidate, dose, y, n_resamples=19, rng=1))
    np.save(tmp_path / "dose.npy", dose)
    mapped = np.load(tmp_path / "dose.npy", mmap_mode="r")
    assert outcome(er.model_test(candidate, mapped, y, n_resamples=19, rng=1)) == in_memory
