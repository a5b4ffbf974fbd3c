"""A loaded region is the region that was saved: ranks, intervals, names, settings."""

import json
import os
import re
import subprocess
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import exactregion as er
from exactregion import kernels, models, statistics
from exactregion.errors import (
    FileAccessError,
    InvalidTypeError,
    InvalidValueError,
    NotFittedError,
)
from exactregion.ranking import AcceptedRanks

RNG = np.random.default_rng(0)
N = 24
X = RNG.normal(size=(N, 2))
Y = (RNG.random(N) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
GRAM = np.exp(-((X[:, None] - X) ** 2).sum(axis=-1) / 2)
THETAS = 0.8 * RNG.normal(size=(40, 3))


def region(**settings):
    return er.ConfidenceRegion(**{"model": "logistic", "n_resamples": 39, "rng": 0, **settings})


def reloaded(fitted, tmp_path, **passed):
    return er.load(fitted.save(tmp_path / "region.npz"), **passed)


def plain(value):
    """Show numbers of NumPy and fractions as the numbers of Python that come back."""
    text = re.sub(r"np\.(float|int|str_)\d*\((.*?)\)", r"\2", repr(value))
    text = text.replace(repr(float(np.float32(0.7))), "0.7").replace("Fraction(1, 2)", "0.5")
    return re.sub(r"gram=.*?\]\]\)+", "gram", text, flags=re.DOTALL)


def assert_same(loaded, fitted, thetas):
    np.testing.assert_array_equal(loaded.rank(thetas), fitted.rank(thetas))
    one, other = loaded.evaluate(thetas[0]), fitted.evaluate(thetas[0])
    assert one.seat == other.seat
    for name in ("labels", "Z", "probabilities"):
        assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    assert loaded.coverage_ == fitted.coverage_
    assert loaded.accepted_ranks_ == fitted.accepted_ranks_
    assert loaded.parameter_names_ == fitted.parameter_names_
    assert plain(loaded.model_) == plain(fitted.model_)
    assert plain(loaded) == plain(fitted)


# --- models and statistics ----------------------------------------------------------------------

STATISTICS = [
    "combined",
    "score",
    "neighborhood",
    statistics.Score(),
    statistics.Discrepancy(bandwidth=np.float32(0.7), standardize=False),
    statistics.Discrepancy(kernels.Laplacian(0.5, norm=2)),
    statistics.Discrepancy("laplacian_euclidean"),
    statistics.Discrepancy(kernels.Precomputed(GRAM)),
    statistics.Discrepancy(kernels.Precomputed(GRAM.tolist())),
    statistics.Embedding(kernels.Matern(nu=2.5)),
    statistics.Embedding(kernels.Poisson(0.3)),
    statistics.Embedding(kernels.Polynomial(3, 0.5)),
    statistics.Neighborhood(k=3, measure="monte_carlo", nodes=40, seed=5),
    statistics.Embedding(kernels.Gaussian()),
    statistics.Neighborhood(k=np.int64(4)),
    statistics.Neighborhood(
        kernel="gaussian", bandwidth=Fraction(1, 2), measure="uniform", domain=[(-1, 1), (-2, 2)]
    ),
    statistics.Neighborhood(measure="uniform", domain=np.array([[-1.0, 1.0], [-2.0, 2.0]])),
    statistics.Combined(),
    statistics.Combined(
        statistics.Score(), statistics.Embedding(kernels.Precomputed(GRAM)), weights=[1, 0.5]
    ),
]


@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: repr(s)[:40])
def test_every_statistic_comes_back(statistic, tmp_path):
    fitted = region(statistic=statistic).fit(X, Y)
    loaded = reloaded(fitted, tmp_path)
    assert_same(loaded, fitted, THETAS)
    assert type(loaded.statistic) is type(fitted.statistic)


TWO = np.column_stack([RNG.uniform(0.05, 0.95, 30), RNG.uniform(0.2, 2.0, 30)])
MODELS = [
    ("probit", X, THETAS),
    (models.Logistic(), X, THETAS),
    (models.CLogLog(intercept=False), X, THETAS[:, :2]),
    (models.Probit(feature_names=["old", "names"]), X, THETAS),
    (models.LaplaceMixture(locations=(2, -1)), X[:, 0], TWO),
    (models.GaussianMixture(locations=np.array([0.5, -0.5])), X[:, 0], TWO),
    (
        models.Mixture(stats.norm, stats.t, {"loc": 1.0}, {"loc": -1, "df": np.inf}, ("scale",)),
        X[:, 0],
        TWO,
    ),
    (
        models.Psychometric(models.Probit(), guess=Fraction(1, 2), lapse="free"),
        X[:, :1],
        np.column_stack([THETAS[:, :2], np.linspace(0, 0.1, 40)]),
    ),
    (models.Recalibration(), 1 / (1 + np.exp(-X[:, 0])), THETAS[:, :2]),
    (models.Recalibration(degree=2), 1 / (1 + np.exp(-X[:, 0])), THETAS),
]


@pytest.mark.parametrize(("model", "inputs", "thetas"), MODELS, ids=lambda v: repr(v)[:30])
def test_every_model_comes_back(model, inputs, thetas, tmp_path):
    fitted = region(model=model).fit(inputs, Y)
    assert_same(reloaded(fitted, tmp_path), fitted, thetas)


# --- data ---------------------------------------------------------------------------------------

ORDER = RNG.permutation(N)
INPUTS = [
    X,
    X[ORDER],
    X[:, :1],
    X[:, 0],
    X.astype(np.float32),
    np.round(X, 1),
    pd.DataFrame(X, columns=["dose", "größe \U0001f600"]),
    pd.DataFrame(X, columns=[3, ""]),
    pd.Series(X[:, 0], name="dose"),
    pd.Series(X[:, 0]),
]


@pytest.mark.parametrize("inputs", INPUTS, ids=range(len(INPUTS)))
def test_inputs_come_back_in_their_shape_with_their_names(inputs, tmp_path):
    fitted = region(statistic="discrepancy").fit(inputs, Y)
    loaded = reloaded(fitted, tmp_path)
    assert_same(loaded, fitted, THETAS[:, : len(fitted.parameter_names_)])
    one, other = loaded.fitted_.sample.inputs, fitted.fitted_.sample.inputs
    assert one.names == other.names
    assert one.X.tobytes() == other.X.tobytes()
    assert one.X.shape == other.X.shape
    np.testing.assert_array_equal(one.order, other.order)


COUNTS = RNG.integers(0, 4, (N, 2))
OUTCOMES = [
    (Y, None),
    (2 * Y - 1, None),
    (Y.astype(bool), None),
    (Y.astype(float), 1),
    (Y.astype(bool), 1),
    (np.where(Y, "ja", "nö\0x"), "ja"),
    (np.where(Y, "ja", "nein"), np.str_("nein")),
    (np.where(Y, 7, 2.5), np.float64(2.5)),
    (np.ones(N, dtype=int), None),
    (np.zeros(N, dtype=int), None),
    (np.full(N, "no"), "yes"),
    (np.full(N, "yes"), "yes"),
    (COUNTS, None),
    (np.column_stack([Y, 1 - Y]), None),
]


@pytest.mark.parametrize(("y", "pos_label"), OUTCOMES, ids=range(len(OUTCOMES)))
def test_outcomes_come_back_as_they_were_written(y, pos_label, tmp_path):
    fitted = region(pos_label=pos_label).fit(X, y)
    loaded = reloaded(fitted, tmp_path)
    assert_same(loaded, fitted, THETAS)
    one, other = loaded.fitted_.sample, fitted.fitted_.sample
    assert one.is_counts is other.is_counts
    assert plain(one.classes) == plain(other.classes)
    assert loaded.pos_label == pos_label
    np.testing.assert_array_equal(loaded.fit(X, y).rank(THETAS), fitted.rank(THETAS))


WORDS = ["ab", "a", "bcd", "b\0", "", "häß", "\ud800"]
LENGTH = models.Function(
    lambda theta, words: np.array([theta[0] ** len(word) for word in words]),
    names=("letter",),
    bounds=[(0, 1)],
)
LETTERS = statistics.Discrepancy(lambda a, b: float(len(set(a) & set(b)) + 1))


@pytest.mark.parametrize(
    "objects", [WORDS, np.array(WORDS[:3]), [(1, 2), (3,), [4.5, None]], [np.arange(2), np.ones(3)]]
)
def test_text_and_lists_of_numbers_come_back(objects, tmp_path):
    y = np.arange(len(objects)) % 2
    fitted = region(model=LENGTH, statistic=LETTERS).fit(objects, y)
    loaded = reloaded(fitted, tmp_path, model=LENGTH, statistic=LETTERS)
    assert_same(loaded, fitted, np.linspace(0.1, 0.9, 9)[:, None])
    assert plain(loaded.fitted_.sample.inputs.X) == plain(fitted.fitted_.sample.inputs.X)


# --- settings and state -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings",
    [
        {"confidence_level": 0.8},
        {"confidence_level": np.float32(0.8)},
        {"confidence_level": Fraction(3, 4)},
        {"accepted_ranks": (3, 30)},
        {"accepted_ranks": [np.int64(1), np.int64(40)], "confidence_level": "unused"},
        {"n_resamples": np.int64(59)},
    ],
)
def test_levels_come_back(settings, tmp_path):
    fitted = region(**settings).fit(X, Y)
    loaded = reloaded(fitted, tmp_path)
    np.testing.assert_array_equal(loaded.contains(THETAS), fitted.contains(THETAS))
    assert loaded.accepted_ranks_ == fitted.accepted_ranks_
    assert loaded.n_resamples == fitted.n_resamples


@pytest.mark.parametrize(
    ("rng", "kept"),
    [
        (5, 5),
        (np.int64(5), 5),
        (None, None),
        (np.random.default_rng(1), None),
        (np.random.SeedSequence(1), None),
    ],
)
def test_draws_come_back_whatever_they_came_from(rng, kept, tmp_path):
    fitted = region(rng=rng).fit(X, Y)
    loaded = reloaded(fitted, tmp_path)
    assert_same(loaded, fitted, THETAS)
    assert loaded.rng == kept
    assert (loaded.batch, loaded.n_jobs, loaded.progress) == (region().batch, None, False)
    again = loaded.fit(X, Y).rank(THETAS)
    assert np.array_equal(again, fitted.rank(THETAS)) == (kept is not None)


def test_what_a_search_finds_is_the_same(tmp_path):
    fitted = region(confidence_level=0.8, n_resamples=19).fit(X[:, 0], Y)
    loaded = reloaded(fitted, tmp_path)
    columns = ["estimate", "lower", "upper", "status", "gap", "certified", "evaluations"]
    pd.testing.assert_frame_equal(
        loaded.intervals(joint=True)[columns], fitted.intervals(joint=True)[columns]
    )
    pd.testing.assert_frame_equal(loaded.intervals()[columns], fitted.intervals()[columns])
    assert loaded.estimate_.tobytes() == fitted.estimate_.tobytes()


def test_saving_twice_gives_the_same_bytes(tmp_path):
    fitted = region().fit(X, Y)
    first = fitted.save(tmp_path / "one.npz").read_bytes()
    assert fitted.save(tmp_path / "two.npz").read_bytes() == first
    loaded = er.load(tmp_path / "one.npz")
    assert loaded.save(tmp_path / "three.npz").read_bytes() == first


def test_numpy_opens_the_file_and_the_header_is_json(tmp_path):
    path = region().fit(X, Y).save(tmp_path / "region.npz")
    with np.load(path, allow_pickle=False) as file:
        np.testing.assert_array_equal(file["inputs"], X)
        np.testing.assert_array_equal(file["successes"], Y)
        np.testing.assert_array_equal(file["trials"], np.ones(N))
        header = json.loads(file["header.json"])
    assert header["version"] == er.__version__
    assert header["format"] == 1
    assert header["settings"]["model"] == "logistic"


def test_another_process_gives_the_same_ranks(tmp_path):
    fitted = region(statistic=statistics.Combined()).fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    path = fitted.save(tmp_path / "region.npz")
    np.save(tmp_path / "thetas.npy", THETAS)
    code = (
        "import sys, numpy as np, exactregion as er\n"
        "region = er.load(sys.argv[1])\n"
        "print(region.rank(np.load(sys.argv[2])).tolist(), region.parameter_names_)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(path), str(tmp_path / "thetas.npy")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == f"{fitted.rank(THETAS).tolist()} ('intercept', 'a', 'b')"


# --- paths --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["region.npz", "region", "region.v2", "größe.npz", "x.npz.bak"])
def test_the_path_is_taken_as_it_is(name, tmp_path):
    fitted = region().fit(X, Y)
    path = fitted.save(str(tmp_path / name))
    assert path == tmp_path / name
    assert isinstance(path, Path)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert_same(er.load(str(path)), fitted, THETAS)


def test_a_file_that_is_there_is_replaced(tmp_path):
    path = tmp_path / "region.npz"
    path.write_text("old")
    region().fit(X, Y).save(path)
    assert er.load(path).coverage_ == 0.95


def test_a_failure_leaves_the_old_file_and_no_part_of_a_new_one(tmp_path, monkeypatch):
    path = region().fit(X, Y).save(tmp_path / "region.npz")
    before = path.read_bytes()

    def fail(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(FileAccessError, match="cannot be written: No space left on device"):
        region(rng=1).fit(X, Y).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("place", ["missing/region.npz", ".", "a\0b"])
def test_where_nothing_can_be_written(place, tmp_path):
    with pytest.raises(FileAccessError, match=r"can(not)? be written"):
        region().fit(X, Y).save(f"{tmp_path}{os.sep}{place}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", [None, 3, b"region.npz"])
def test_what_is_no_path(path):
    with pytest.raises(InvalidTypeError, match=r"'path' parameter must be a path. Got"):
        region().fit(X, Y).save(path)
    with pytest.raises(InvalidTypeError, match=r"'path' parameter must be a path. Got"):
        er.load(path)


# --- what cannot be saved -----------------------------------------------------------------------


def test_only_fitted_regions_are_saved(tmp_path):
    with pytest.raises(NotFittedError):
        region().save(tmp_path / "region.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_resamples", 59),
        ("confidence_level", 0.8),
        ("accepted_ranks", (1, 5)),
        ("statistic", "score"),
        ("model", "probit"),
    ],
)
def test_settings_changed_since_fit_are_not_saved(name, value, tmp_path):
    fitted = region().fit(X, Y)
    ranks, before = fitted.rank(THETAS), getattr(fitted, name)
    setattr(fitted, name, value)
    loaded = er.load(fitted.save(tmp_path / "region.npz"))
    assert np.array_equal(loaded.rank(THETAS), ranks)
    assert loaded.accepted_ranks_ == AcceptedRanks(40, 1, 38)
    assert getattr(loaded, name) == before


Pair = namedtuple("Pair", "left right")


class Thing:
    def __len__(self):
        return 3


@pytest.mark.parametrize(
    "objects",
    [
        [Thing(), Thing()],
        [{1: 2}, {3: 4}],
        [b"a", b"b"],
        [{"a"}, {"b"}],
        [Pair(1, "a"), Pair(2, "b")],
    ],
)
def test_other_objects_are_refused(objects, tmp_path):
    fitted = region(model=LENGTH, statistic=statistics.Discrepancy(lambda a, b: 1.0 * (a is b)))
    fitted.fit(objects, [0, 1])
    kind = type(objects[0]).__name__
    with pytest.raises(
        InvalidTypeError, match=rf"^The rows of X must be .* to be saved. Got {kind} inst"
    ):
        fitted.save(tmp_path / "region.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("negative", "positive", "kind"),
    [
        (np.datetime64("2020-01-01"), np.datetime64("2021-01-01"), "date"),
        (b"no", b"yes", "bytes"),
    ],
)
def test_classes_of_other_kinds_are_refused(negative, positive, kind, tmp_path):
    y = np.where(Y == 1, positive, negative)
    fitted = region(pos_label=np.asarray(positive).item()).fit(X, y)
    with pytest.raises(
        InvalidTypeError, match=rf"^The 'pos_label' parameter must be .* Got {kind} inst"
    ):
        fitted.save(tmp_path / "region.npz")
    fitted.fitted_.settings["pos_label"] = None
    with pytest.raises(InvalidTypeError, match=rf"^The classes of y must be .* Got {kind} instead"):
        fitted.save(tmp_path / "region.npz")


def test_columns_named_alike_are_refused(tmp_path):
    model = er.models.Function(lambda theta, x: np.full(len(x), 0.5), ["a"])
    fitted = region(model=model, statistic="discrepancy").fit(pd.DataFrame(X, columns=[1, "1"]), Y)
    with pytest.raises(InvalidValueError, match=r"different names.*Got \['1', '1'\]"):
        fitted.save(tmp_path / "region.npz")
