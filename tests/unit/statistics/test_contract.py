"""A statistic and a family written in this file work everywhere, without any other file."""

import numpy as np
import pytest

import exactregion as er
from exactregion.engine import Paths, PreparedStatistic, statistics_of_many
from exactregion.engine.evaluate import WORTH_SORTING
from exactregion.models import Model
from exactregion.statistics import STATISTICS, FromCentre, Statistic, Term, Whitened

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
