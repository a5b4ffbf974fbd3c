"""Models and statistics with functions of the user's own are passed again to load."""

import functools
import io

import numpy as np
import pytest
from scipy import stats

import exactregion as er
from exactregion import kernels, models, statistics
from exactregion.data.files import pack, unpack
from exactregion.errors import InvalidValueError

RNG = np.random.default_rng(3)
X = RNG.uniform(0.2, 4.0, size=20)
Y = (RNG.random(20) < X / (1 + X)).astype(int)
THETAS = RNG.uniform(0.3, 3.0, size=(30, 2))


def hill_curve(theta, x):
    return x ** theta[1] / (theta[0] ** theta[1] + x ** theta[1])


def surprises(labels, p, X):
    return (((labels + 1) / 2 - p) ** 2 @ X).ravel()


def overlap(a, b):
    return float(np.exp(-((a - b) ** 2).sum()))


HILL = models.Function(hill_curve, names=("ec50", "slope"), bounds=[(0, np.inf), (0, np.inf)])


class Shifted(models.Model):
    parameter_names = ("low", "high")
    bounds = ((0.0, 1.0), (0.0, 9.0))

    def evaluate(self, theta, X):
        return theta[:, :1] + (1 - theta[:, :1]) * np.exp(-theta[:, 1:] * X)


class Steeper(models.Logistic):
    pass


class Squares(statistics.Score):
    pass


class Wider(kernels.Gaussian):
    pass


class Bell(stats.rv_continuous):
    def _pdf(self, x):
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)


def region(**settings):
    return er.ConfidenceRegion(**{"model": "logistic", "n_resamples": 39, "rng": 0, **settings})


OWN_MODELS = [
    HILL,
    models.Function(functools.partial(hill_curve), names=("a", "b")),
    Shifted(),
    Steeper(),
    models.Psychometric(Steeper(), guess=0.1, lapse=0.1),
    models.Mixture(Bell(name="bell"), stats.norm, {"loc": 0, "scale": 2}, {"loc": 0}),
]


@pytest.mark.parametrize("model", OWN_MODELS, ids=lambda m: repr(m)[:20])
def test_a_model_of_ones_own_is_passed_again(model, tmp_path):
    fitted = region(model=model).fit(X, Y)
    path = fitted.save(tmp_path / "region.npz")
    with pytest.raises(InvalidValueError, match=r"fitted with the model .*load\(path, model=...\)"):
        er.load(path)
    loaded = er.load(path, model=model)
    thetas = np.column_stack([np.linspace(0.1, 0.9, 30), THETAS[:, 1]])
    np.testing.assert_array_equal(loaded.rank(thetas), fitted.rank(thetas))
    assert loaded.model is model


OWN_STATISTICS = [
    surprises,
    statistics.Custom(surprises),
    Squares(),
    statistics.Discrepancy(overlap),
    statistics.Embedding(kernels.CallableKernel(overlap)),
    statistics.Neighborhood(kernel=Wider(0.5)),
    statistics.Combined(statistics.Score(), statistics.Discrepancy(overlap)),
]


@pytest.mark.parametrize("statistic", OWN_STATISTICS, ids=lambda s: repr(s)[:20])
def test_a_statistic_of_ones_own_is_passed_again(statistic, tmp_path):
    fitted = region(statistic=statistic).fit(X, Y)
    path = fitted.save(tmp_path / "region.npz")
    with pytest.raises(InvalidValueError, match=r"with the statistic .*load\(path, statistic=..."):
        er.load(path)
    loaded = er.load(path, statistic=statistic)
    np.testing.assert_array_equal(loaded.rank(THETAS), fitted.rank(THETAS))
    assert loaded.statistic is statistic


def test_the_error_says_what_it_was_and_how_to_pass_it(tmp_path):
    path = region(model=HILL, statistic=surprises).fit(X, Y).save(tmp_path / "region.npz")
    with pytest.raises(InvalidValueError) as caught:
        er.load(path)
    assert str(caught.value) == (
        "The region was fitted with the model Function('hill_curve', names=('ec50', 'slope')) and "
        "statistic <function surprises>, which a file cannot hold: pass the same to "
        "exactregion.load(path, model=..., statistic=...)."
    )
    with pytest.raises(InvalidValueError, match=r"statistic <function surprises>.*statistic=...\)"):
        er.load(path, model=HILL)
    er.load(path, model=HILL, statistic=surprises)


def test_long_descriptions_are_cut(tmp_path):
    statistic = statistics.Discrepancy(functools.partial(overlap, b=list(range(500))))
    fitted = region().fit(X, Y)
    fitted.fitted_.settings["statistic"] = statistic
    with pytest.raises(InvalidValueError, match="…, which a file cannot hold") as caught:
        er.load(fitted.save(tmp_path / "region.npz"))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["model", "statistic"])
def test_what_the_file_holds_is_not_passed(name, tmp_path):
    path = region().fit(X, Y).save(tmp_path / "region.npz")
    value = {"model": "probit", "statistic": "score"}[name]
    with pytest.raises(InvalidValueError, match=f"{name!r} parameter must be left out.*{value!r}"):
        er.load(path, **{name: value})


@pytest.mark.parametrize(
    ("passed", "message"),
    [
        (
            {"model": "logistic"},
            r"'model' passed must.*parameters \['intercept', 'x'\], which were",
        ),
        (
            {"model": models.Function(lambda th, x: hill_curve(th, x * 1.01), ("ec50", "slope"))},
            "'model' passed must be what the region was fitted with. Got other probabilities at",
        ),
    ],
)
def test_another_model_is_told(passed, message, tmp_path):
    path = region(model=HILL).fit(X, Y).save(tmp_path / "region.npz")
    with pytest.raises(InvalidValueError, match=message):
        er.load(path, **passed)


@pytest.mark.parametrize(
    "other", ["score", lambda labels, p, X: surprises(labels, p, X) + 0.01 * labels[:, 0]]
)
def test_another_statistic_is_told(other, tmp_path):
    path = region(statistic=surprises).fit(X, Y).save(tmp_path / "region.npz")
    with pytest.raises(InvalidValueError, match=r"'statistic' passed must be what.*other values"):
        er.load(path, statistic=other)


def test_the_librarys_statistic_may_change_between_versions(tmp_path):
    fitted = region(model=HILL).fit(X, Y)
    path = fitted.save(tmp_path / "region.npz")
    header, arrays = unpack(io.BytesIO(path.read_bytes()), lambda header: None)
    arrays["known.Z"] = 2 * arrays["known.Z"]
    path.write_bytes(pack(header, arrays))
    assert er.load(path, model=HILL).rank([1.0, 1.0]) == fitted.rank([1.0, 1.0])
    del arrays["known.probabilities"]  # as version 0.1.0 wrote it
    path.write_bytes(pack(header, arrays))
    assert er.load(path, model=HILL).rank([1.0, 1.0]) == fitted.rank([1.0, 1.0])


def test_a_last_bit_is_no_other_statistic(tmp_path):
    fitted = region(statistic=surprises).fit(X, Y)
    path = fitted.save(tmp_path / "region.npz")
    loaded = er.load(path, statistic=lambda labels, p, X: surprises(labels, p, X) * (1 + 1e-12))
    np.testing.assert_array_equal(loaded.rank(THETAS), fitted.rank(THETAS))


def test_infinite_values_are_compared_too(tmp_path):
    def certain(labels, p, X):
        return np.where(labels[:, 0] > 0, np.inf, labels.sum(axis=1))

    path = region(statistic=certain).fit(X, Y).save(tmp_path / "region.npz")
    er.load(path, statistic=certain)
    with pytest.raises(InvalidValueError, match="other values"):
        er.load(path, statistic=lambda labels, p, X: labels.sum(axis=1))


def test_a_function_that_fails_where_it_was_not_asked_is_saved_all_the_same(tmp_path):
    def picky(theta, x):
        if theta[0] != 0.25:
            raise RuntimeError("not there")
        return np.full(len(x), theta[0])

    model = models.Function(picky, names=("p",))
    fitted = region(model=model, statistic="discrepancy").fit(X, Y)
    loaded = er.load(fitted.save(tmp_path / "region.npz"), model=model)
    assert loaded.rank([0.25]) == fitted.rank([0.25])
