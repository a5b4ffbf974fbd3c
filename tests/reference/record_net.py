"""A net under the library: ranks and Z of some 400 configurations, recorded before a redesign.

``python tests/reference/record_net.py`` evaluates all configurations and writes ``net.json`` beside
this file; with ``--compare`` it writes nothing, and prints how many differ from what is recorded.
``test_net.py`` is the same comparison as a test.

Only the public interface is used here, so that modules may move and helpers change their names.
Digests are those of the bytes of Z: they hold for one version of NumPy and SciPy and one kind of
processor, which net.json names. Ranks depend on these hardly ever.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from itertools import pairwise, product
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info

import exactregion as er

NET = Path(__file__).with_name("net.json")

Answer: TypeAlias = dict[str, list[Any] | None]
"""The ranks, the digests of Z, and whether each θ is in the region where that is asked for."""

LARGE = 65_536
"""More rows than this are worked on in chunks."""

UNSTABLE: frozenset[str] = frozenset()
"""Keys of configurations whose last bits differ from run to run: no digest is kept of these."""


# --- configurations -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Configuration:
    """One call of the library, as data.

    Attributes
    ----------
    group : str
        Configurations that one test case checks together.
    call : {"calibration", "model", "compare", "region"}
        What is called.
    statistic : str
        A name in `STATISTICS`.
    inputs, outcomes, n : str, str and int
        The data, as `data_of` makes them.
    source : str
        How rows are given: "memory", "map", "parquet", "frame", "dask-array-3", ….
    family : str
        For a region: a name in `FAMILIES`.
    asked : str
        For a region: "grid" (all θ of the family at once, so many that only labels that flip are
        worked on), "five" (θ in one batch) or "single" (three θ, one after the other).
    variation : str
        "float32", "shuffled", "frame" or "lists": other forms of the same data; "candidate" for a
        function in the place of probabilities; "by" for groups.
    n_resamples : int
        Number of alternatives.
    settings : tuple of (str, value)
        Further arguments of the call.
    """

    group: str
    call: Literal["calibration", "model", "compare", "region"]
    statistic: str
    inputs: str
    outcomes: str
    n: int
    source: str = "memory"
    family: str = ""
    asked: str = ""
    variation: str = ""
    n_resamples: int = 0
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def key(self) -> str:
        """A name that stays the same, whatever the group."""
        m = f"m={self.m}"
        chosen = [f"{name}={value}" for name, value in self.settings]
        data = f"{self.inputs}-{self.outcomes}-{self.n}"
        words = [self.call, self.family, self.statistic, data, self.source, m]
        return "/".join(filter(None, [*words, self.asked, self.variation, *chosen]))

    @property
    def m(self) -> int:
        """Number of data sets: fewer where they are larger."""
        if self.n_resamples:
            return self.n_resamples + 1
        return 20 if self.n > LARGE else 50 if self.n > 100 else 100

    @property
    def is_combined(self) -> bool:
        """Whether Z is a sum of parts that are brought to mean one."""
        return "combined" in self.statistic


NAMED = (
    "combined",
    "curvature",
    "discrepancy",
    "embedding",
    "multiscale",
    "neighborhood",
    "omnibus",
    "score",
    "spiegelhalter",
)
WITHOUT_FAMILY = ("discrepancy", "embedding", "multiscale", "neighborhood", "spiegelhalter")
KERNELS = (
    "discrepancy-laplacian",
    "discrepancy-euclidean",
    "discrepancy-matern",
    "discrepancy-smooth",
    "discrepancy-poisson",
    "discrepancy-narrow",
    "discrepancy-wide",
    "discrepancy-raw",
    "discrepancy-callable",
    "discrepancy-precomputed",
    "embedding-laplacian",
    "embedding-euclidean",
    "embedding-matern",
    "embedding-poisson",
    "embedding-narrow",
    "embedding-raw",
    "embedding-callable",
    "embedding-precomputed",
    "multiscale-laplacian",
    "multiscale-raw",
)
NEIGHBORHOODS = (
    "neighborhood-k",
    "neighborhood-raw",
    "neighborhood-uniform",
    "neighborhood-smoother",
    "neighborhood-smoother-uniform",
    "neighborhood-precomputed",
)
SUMS = (
    "combined-weights",
    "combined-parts",
    "combined-three",
    "combined-callable",
    "omnibus-parts",
    "omnibus-score",
    "omnibus-combined",
)


def configurations() -> list[Configuration]:
    """List all configurations: their keys differ from each other."""
    made = [*_regions(), *_families(), *_tests(), *_forms(), *_large()]
    twice = [key for key, number in Counter(each.key for each in made).items() if number > 1]
    if twice:
        raise ValueError(f"Configurations must have different keys. Got {twice} twice instead.")
    return made


def _regions() -> Iterator[Configuration]:
    """All statistics, for a logistic family."""
    every = (*NAMED, "callable")
    line = {"call": "region", "family": "logistic", "inputs": "line"}
    for statistic, outcomes in product(every, ("labels", "counts")):
        for n, asked in ((23, "grid"), (500, "five")):
            group = f"region {outcomes} grid" if asked == "grid" else "region few theta"
            yield _make(group, line, statistic, outcomes, n, asked=asked)
    for statistic in every:
        yield _make("region labels grid", line, statistic, "labels", 500, asked="grid")
        yield _make("region few theta", line, statistic, "labels", 23, asked="single")
        yield _make("region trials", line, statistic, "trials", 23, asked="grid")
        yield _make("region one row", line, statistic, "labels", 1, asked="grid")
    for statistic in ("combined", "discrepancy", "omnibus", "score"):
        yield _make("region one row", line, statistic, "counts", 1, asked="five")
        yield _make("region trials", line, statistic, "trials", 23, asked="five")
    for statistic in (*KERNELS, *NEIGHBORHOODS, "neighborhood-domain", *SUMS):
        group = "region kernels" if statistic in KERNELS else "region neighborhoods and sums"
        yield _make(group, line, statistic, "labels", 23, asked="grid")
    plane = {**line, "inputs": "plane", "family": "logistic-2"}
    for statistic in (*NAMED, "neighborhood-uniform", "neighborhood-smoother"):
        yield _make("region plane and ties", plane, statistic, "labels", 60, asked="grid")
    ties = {**line, "inputs": "ties"}
    for statistic in ("combined", "discrepancy", "neighborhood", "neighborhood-uniform", "score"):
        yield _make("region plane and ties", ties, statistic, "labels", 60, asked="grid")
        yield _make("region plane and ties", ties, statistic, "counts", 23, asked="grid")


def _families() -> Iterator[Configuration]:
    """All families; those with θ that make certain of some outcomes among them."""
    for family, made in FAMILIES.items():
        if family in ("logistic", "words"):
            continue
        region = {"call": "region", "family": family, "inputs": made.inputs}
        for statistic in ("combined", "score", "discrepancy"):
            yield _make(f"families {statistic}", region, statistic, "labels", 23, asked="grid")
        yield _make("families counts", region, "score", "counts", 23, asked="grid")
        yield _make("families more rows", region, "score", "labels", 500, asked="grid")
    certain = {"call": "region", "family": "recalibration"}
    for inputs, statistic in product(("certain", "contradicted"), ("combined", "omnibus", "score")):
        region = {**certain, "inputs": inputs}
        yield _make("certain", region, statistic, "labels", 60, asked="grid")
    for statistic in ("curvature", "embedding", "spiegelhalter"):
        region = {**certain, "inputs": "certain"}
        yield _make("certain", region, statistic, "counts", 60, asked="grid")


def _tests() -> Iterator[Configuration]:
    """Tests of fixed candidates, in memory."""
    model = {"call": "model", "inputs": "plane"}
    for statistic in (*WITHOUT_FAMILY, "callable", "combined-kernels", "omnibus-parts"):
        for outcomes, n in (("labels", 500), ("counts", 23), ("trials", 60)):
            yield _make("model in memory", model, statistic, outcomes, n)
    for statistic in ("discrepancy", "multiscale", "neighborhood"):
        yield _make("model in memory", model, statistic, "labels", 1)
    for statistic in ("discrepancy-callable", "embedding-precomputed", "multiscale-laplacian"):
        yield _make("model in memory", model, statistic, "labels", 60, variation="candidate")
    calibration = {"call": "calibration", "inputs": "predictions"}
    for statistic in (*NAMED, "callable", "omnibus-score", "combined-three"):
        for outcomes, n in (("labels", 23), ("counts", 500)):
            yield _make("calibration in memory", calibration, statistic, outcomes, n)
    for statistic in ("combined", "omnibus", "score", "multiscale"):
        yield _make("calibration in memory", calibration, statistic, "labels", 1)
        yield _make("calibration in memory", calibration, statistic, "trials", 23)
    for inputs, statistic in product(("certain", "contradicted"), ("omnibus", "multiscale")):
        for call, outcomes in (("calibration", "labels"), ("model", "counts")):
            chosen = "discrepancy" if call == "model" and statistic == "omnibus" else statistic
            given = {"call": call, "inputs": inputs}
            yield _make("certain", given, chosen, outcomes, 60)
    compare = {"call": "compare", "inputs": "plane"}
    for statistic, outcomes in product(("multiscale", "neighborhood"), ("labels", "counts")):
        yield _make("compare and groups", compare, statistic, outcomes, 60)


def _forms() -> Iterator[Configuration]:
    """Other forms of data, settings that change no rank, and ranks that are accepted."""
    plane = {"call": "region", "family": "logistic-2", "inputs": "plane"}
    for variation, statistic in product(
        ("float32", "shuffled", "frame"), ("combined", "embedding")
    ):
        yield _make("forms", plane, statistic, "labels", 60, variation=variation, asked="grid")
    model = {"call": "model", "inputs": "plane"}
    calibration = {"call": "calibration", "inputs": "predictions"}
    for variation in ("float32", "shuffled", "lists"):
        yield _make("forms", model, "multiscale", "labels", 60, variation=variation)
        yield _make("forms", calibration, "omnibus", "counts", 60, variation=variation)
    for outcomes in ("words", "signs"):
        yield _make("forms", plane, "score", outcomes, 60, asked="grid")
        yield _make("forms", calibration, "omnibus", outcomes, 60)
    text = {"call": "model", "inputs": "text"}
    for statistic, outcomes in product(
        ("discrepancy", "embedding", "multiscale", "neighborhood"), ("labels", "counts")
    ):
        yield _make("text and objects", text, statistic, outcomes, 60)
    words = {"inputs": "words", "family": "words"}
    for statistic in ("discrepancy-letters", "embedding-letters", "neighborhood-letters"):
        yield _make("text and objects", {**words, "call": "model"}, statistic, "labels", 60)
        region = {**words, "call": "region"}
        yield _make("text and objects", region, statistic, "counts", 23, asked="grid")
    region = {**words, "call": "region"}
    yield _make("text and objects", region, "combined-letters", "labels", 60, asked="grid")
    for settings in (
        {"accepted_ranks": (1, 19)},
        {"accepted_ranks": (6, 95)},
        {"confidence_level": 0.5},
        {"batch": 100_000},
        {"n_jobs": 2},
        {"rng": "sequence"},
    ):
        for statistic in ("combined", "discrepancy"):
            yield _make("settings", plane, statistic, "labels", 23, asked="grid", settings=settings)
    for outcomes in ("labels", "counts"):
        yield _make("compare and groups", calibration, "omnibus", outcomes, 500, variation="by")
    yield _make("compare and groups", calibration, "combined", "labels", 500, variation="by")
    for source in ("map", "parquet", "frame", "dask-array-3", "dask-frame-2"):
        yield _make("few rows of a source", calibration, "omnibus", "labels", 500, source=source)
        yield _make("few rows of a source", model, "multiscale", "counts", 500, source=source)


def _large() -> Iterator[Configuration]:
    """More rows than are worked on at once, in memory and elsewhere."""
    model = {"call": "model", "inputs": "plane"}
    calibration = {"call": "calibration", "inputs": "predictions"}
    n = 100_000
    for statistic in ("omnibus", "combined", "score", "curvature", "spiegelhalter", "callable"):
        yield _make("large calibration", calibration, statistic, "labels", n)
    yield _make("large calibration", calibration, "omnibus", "counts", 70_000)
    yield _make("large calibration", calibration, "embedding", "mixed", n, n_resamples=49)
    yield _make("large calibration", calibration, "omnibus", "labels", n, settings={"n_jobs": 2})
    yield _make("large calibration", {**calibration, "inputs": "certain"}, "omnibus", "labels", n)
    contradicted = {**calibration, "inputs": "contradicted"}
    yield _make("large calibration", contradicted, "omnibus", "labels", n)
    for statistic in ("multiscale", "discrepancy-laplacian", "embedding-raw", "combined-kernels"):
        yield _make("large model", model, statistic, "labels", n)
    yield _make("large model", model, "discrepancy", "mixed", n)
    yield _make("large model", {**model, "inputs": "text"}, "discrepancy", "labels", n)
    yield _make("large model", model, "spiegelhalter", "labels", n, variation="float32")
    for call, statistic, outcomes in (
        ("model", "multiscale", "labels"),
        ("model", "neighborhood", "labels"),
        ("model", "embedding", "counts"),
        ("calibration", "omnibus", "labels"),
        ("calibration", "combined", "counts"),
    ):
        repeated = {"call": call, "inputs": "repeated"}
        yield _make("large and repeated", repeated, statistic, outcomes, n)
    for source, call in product(("map", "parquet"), ("calibration", "model")):
        repeated = {"call": call, "inputs": "repeated"}
        statistic = "omnibus" if call == "calibration" else "discrepancy"
        yield _make("large and repeated", repeated, statistic, "labels", n, source=source)
    yield _make("large groups", calibration, "omnibus", "labels", n, variation="by")
    for source in ("map", "dask-frame-3"):
        yield _make(
            "large groups", calibration, "score", "labels", n, variation="by", source=source
        )
    for source in ("map", "parquet", "parquet-parts"):
        yield _make("large stream", calibration, "omnibus", "labels", 70_000, source=source)
        yield _make("large stream", model, "discrepancy", "labels", 70_000, source=source)
        yield _make("large stream", calibration, "score", "mixed", n, source=source)
    yield _make("large stream", calibration, "combined", "labels", n, source="map")
    yield _make(
        "large stream", model, "embedding", "labels", n, source="parquet", variation="candidate"
    )
    for source in ("dask-array-1", "dask-array-3", "dask-array-50", "dask-frame-4"):
        yield _make("large dask", calibration, "omnibus", "labels", 70_000, source=source)
    for source in ("dask-array-3", "dask-frame-2"):
        yield _make("large dask", model, "discrepancy", "labels", n, source=source)
    yield _make("large dask", calibration, "combined", "mixed", n, source="dask-array-7")
    for family, inputs in (("logistic-2", "plane"), ("recalibration", "predictions")):
        region = {"call": "region", "family": family, "inputs": inputs}
        yield _make("large region", region, "score", "labels", n, asked="five")
        yield _make("large region", region, "combined", "labels", n, asked="single")
    region = {"call": "region", "family": "logistic", "inputs": "line"}
    yield _make("large region", region, "discrepancy", "mixed", n, asked="single")


def _make(
    group: str,
    shared: Mapping[str, Any],
    statistic: str,
    outcomes: str,
    n: int,
    *,
    settings: Mapping[str, Any] | None = None,
    **more: Any,
) -> Configuration:
    chosen = tuple((settings or {}).items())
    named = {**shared, **more, "settings": chosen}
    return Configuration(group=group, statistic=statistic, outcomes=outcomes, n=n, **named)


# --- data ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Data:
    """Inputs, outcomes, probabilities of a candidate that is nearly true, and groups."""

    X: Any
    y: Any
    p: np.ndarray
    by: np.ndarray


TRIALS = {"counts": 2.5, "trials": 200.0}
"""Trials per row, about; others have one."""


@cache
def data_of(inputs: str, outcomes: str, n: int) -> Data:
    """Make data from seeds that depend on their names alone."""
    name = f"{inputs}-{outcomes}-{n}"
    seed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    rng = np.random.default_rng(seed)
    X, truth = _inputs(inputs, n, rng)
    step = 0.5 / np.sqrt(n * TRIALS.get(outcomes, 1))
    if inputs in ("certain", "contradicted"):
        p = truth
    elif inputs == "predictions":
        p, truth = truth, _tilted(truth, step)
    elif inputs == "repeated":
        p = np.clip(np.round(truth, 2), 0.01, 0.99)
        truth = _tilted(p, step)
    else:
        p = _tilted(truth, step)
    y = _outcomes(outcomes, truth, rng)
    if inputs == "contradicted":
        # one row where an outcome that cannot be came true
        impossible = np.flatnonzero(X == 0)[0]
        y[impossible] = (1, 0) if y.ndim == 2 else 1
    by = np.where(rng.random(n) < 0.7, "new", np.where(rng.random(n) < 0.3, "rare", "old"))
    return Data(X, y, p, by)


def expit(score: np.ndarray) -> np.ndarray:
    """Compute the logistic function, one entry at a time."""
    return 1 / (1 + np.exp(-score))


def _tilted(p: np.ndarray, step: float) -> np.ndarray:
    """Shift and stretch logits: so little that outcomes hardly tell, or all ranks are the same."""
    return expit((1 + step) * np.log(p / (1 - p)) + step)


def _inputs(kind: str, n: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Give inputs, and the probability of a success at each."""
    Z = rng.normal(size=(n, 3))
    columns = {"line": 1, "ties": 1, "plane": 2, "space": 3}
    if kind == "ties":
        Z = np.round(Z * 2) / 2
    if kind in columns:
        X = Z[:, 0] if columns[kind] == 1 else Z[:, : columns[kind]]
        truth = expit(Z[:, 0] + (0.4 * Z[:, 1] if columns[kind] > 1 else 0.0))
    elif kind == "levels":
        X, truth = Z[:, 0], 0.5 + 0.48 * expit(Z[:, 0])
    elif kind == "doses":
        X, truth = np.exp(Z[:, 0]), expit(1.5 * Z[:, 0])
    elif kind == "repeated":
        X = np.round(Z[:, :2])
        truth = expit(X[:, 0] - 0.3 * X[:, 1])
    elif kind in ("predictions", "certain", "contradicted"):
        X = truth = expit(1.5 * Z[:, 0])
        if kind != "predictions":
            X = truth = np.where(Z[:, 1] < -1, 0.0, np.where(Z[:, 1] > 1, 1.0, X))
    elif kind == "text":
        arm = rng.choice(["a", "b", "c"], size=n, p=[0.6, 0.3, 0.1])
        sex = rng.choice(["f", "m"], size=n)
        day = np.datetime64("2024-01-01") + rng.integers(0, 90, n)
        X = pd.DataFrame({"age": np.round(50 + 9 * Z[:, 0]), "arm": arm, "sex": sex, "day": day})
        truth = expit(Z[:, 0] + (arm == "a") - 0.5 * (sex == "m"))
    elif kind == "words":
        lengths = rng.integers(1, 8, n)
        X = ["".join(rng.choice(list("abcd"), size=length)) for length in lengths]
        truth = expit(0.5 * (lengths - 4.0))
    else:
        raise ValueError(f"There are no inputs called {kind!r}.")
    return X, truth


def _outcomes(kind: str, truth: np.ndarray, rng: np.random.Generator) -> Any:
    n = len(truth)
    if kind in ("counts", "trials", "mixed"):
        # some rows have no trial, and some of "trials" and "mixed" more than a byte can count
        trials = rng.integers(0, 400 if kind == "trials" else 6, n)
        trials[0] = 3
        if kind == "mixed":
            trials = np.where(np.arange(n) % 50 == 0, trials, 1)
            trials[::9000] += 300
        successes = rng.binomial(trials, truth)
        return np.column_stack([successes, trials - successes])
    y = (rng.random(n) < truth).astype(np.int64)
    if kind == "words":
        return np.where(y == 1, "ill", "well")
    return 2 * y - 1 if kind == "signs" else y


def _varied(data: Data, variation: str) -> Data:
    """Give the same data in another form."""
    if variation == "float32":
        return Data(data.X.astype(np.float32), data.y, data.p.astype(np.float32), data.by)
    if variation == "shuffled":
        order = np.random.default_rng(0).permutation(len(data.p))
        return Data(data.X[order], data.y[order], data.p[order], data.by[order])
    if variation == "frame":
        names = [f"x{column}" for column in range(data.X.shape[1])]
        return Data(pd.DataFrame(data.X, columns=names), pd.Series(data.y), data.p, data.by)
    if variation == "lists":
        return Data(data.X.tolist(), data.y.tolist(), data.p.tolist(), data.by)
    return data


# --- statistics and families --------------------------------------------------------------------


def leaning(labels: np.ndarray, p: np.ndarray, X: Any) -> np.ndarray:
    """Sum labels with whole numbers as weights: a statistic of the user, exact in any order."""
    first = np.asarray(X, dtype=np.float64).reshape(len(p), -1)[:, 0]
    return np.abs((labels * np.rint(8 * first)).sum(axis=1))


def rational(a: np.ndarray, b: np.ndarray) -> float:
    """Compute a rational quadratic kernel of two rows."""
    return float(1 / (1 + np.sum((a - b) ** 2)))


def letters(a: str, b: str) -> float:
    """Count the pairs of equal letters, and compare lengths."""
    pairs = sum(a.count(letter) * b.count(letter) for letter in "abcd")
    return float(pairs) + 0.5 ** abs(len(a) - len(b))


def gram(data: Data) -> er.kernels.Precomputed:
    """Compute the Gram matrix of the inputs of a data set."""
    X = np.asarray(data.X, dtype=np.float64).reshape(len(data.p), -1)
    gaps = (X[:, None, :] - X[None, :, :]) ** 2
    return er.kernels.Precomputed(np.exp(-gaps.sum(axis=-1)))


def _statistics() -> dict[str, Callable[[Data], Any]]:
    """Give what makes each statistic for a data set; most do not look at it."""
    s, k = er.statistics, er.kernels
    fixed: dict[str, Any] = {name: name for name in NAMED}
    fixed["callable"] = leaning
    for name, kind in (("discrepancy", s.Discrepancy), ("embedding", s.Embedding)):
        fixed |= {
            f"{name}-laplacian": kind("laplacian"),
            f"{name}-euclidean": kind("laplacian_euclidean"),
            f"{name}-matern": kind("matern"),
            f"{name}-smooth": kind(k.Matern(nu=2.2)),
            f"{name}-poisson": kind("poisson"),
            f"{name}-narrow": kind(bandwidth=0.3),
            f"{name}-wide": kind(k.Gaussian(multiple=3.0)),
            f"{name}-raw": kind(standardize=False),
            f"{name}-callable": kind(rational),
            f"{name}-letters": kind(letters),
        }
    fixed |= {
        "multiscale-laplacian": s.Multiscale("laplacian"),
        "multiscale-raw": s.Multiscale(standardize=False),
        "neighborhood-k": s.Neighborhood(k=3),
        "neighborhood-raw": s.Neighborhood(k=5, standardize=False),
        "neighborhood-uniform": s.Neighborhood(measure="uniform"),
        "neighborhood-domain": s.Neighborhood(k=3, measure="uniform", domain=[(-4.0, 4.0)]),
        "neighborhood-smoother": s.Neighborhood(kernel="gaussian"),
        "neighborhood-smoother-uniform": s.Neighborhood(
            kernel="laplacian", bandwidth=0.4, measure="uniform", nodes=64
        ),
        "neighborhood-letters": s.Neighborhood(kernel=letters),
        "combined-weights": s.Combined(weights=(1.0, 2.0)),
        "combined-parts": s.Combined(s.Score(), s.Embedding("laplacian"), weights=(1.0, 0.5)),
        "combined-three": s.Combined(s.Score(), s.Discrepancy("matern"), s.Spiegelhalter()),
        "combined-callable": s.Combined(s.Score(), s.Custom(leaning), weights=(2.0, 1.0)),
        "combined-kernels": s.Combined(s.Discrepancy(), s.Embedding("laplacian")),
        "combined-letters": s.Combined(s.Score(), s.Discrepancy(letters), weights=(1.0, 0.3)),
        "omnibus-parts": s.Omnibus(
            s.Discrepancy(bandwidth=0.5), s.Embedding(), s.Spiegelhalter(), weights=(1.0, 2.0, 1.0)
        ),
        "omnibus-score": s.Omnibus(s.Score(), s.Curvature()),
        "omnibus-combined": s.Omnibus(s.Score(), s.Combined()),
    }
    made: dict[str, Callable[[Data], Any]] = {
        name: lambda data, own=statistic: own for name, statistic in fixed.items()
    }
    made["discrepancy-precomputed"] = lambda data: s.Discrepancy(gram(data))
    made["embedding-precomputed"] = lambda data: s.Embedding(gram(data))
    made["neighborhood-precomputed"] = lambda data: s.Neighborhood(kernel=gram(data))
    return made


STATISTICS = _statistics()


@dataclass(frozen=True, eq=False)
class Family:
    """A family, the inputs that suit it, and where its θ are.

    Attributes
    ----------
    model : Model or str
        The family.
    inputs : str
        What `data_of` calls them.
    axes : sequence of sequences of float
        Values of each parameter at about 20 trials.
    centre : sequence of float or None
        What more trials bring θ closer to: about the truth. None keeps θ where they are.
    """

    model: Any
    inputs: str
    axes: Sequence[Iterable[float]]
    centre: Sequence[float] | None = None

    def grid(self, trials: float) -> np.ndarray:
        """Give all θ for so many trials: 40 or more, the last parameter running first."""
        theta = np.array(list(product(*self.axes)))
        if self.centre is None:
            return theta
        return self.centre + (theta - self.centre) * min(1.0, np.sqrt(20 / trials))


def hill(theta: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Compute a curve of dose and response."""
    return x ** theta[1] / (theta[0] ** theta[1] + x ** theta[1])


def by_length(theta: np.ndarray, X: Sequence[str]) -> np.ndarray:
    """Compute a logistic curve in the length of words, for many θ at once."""
    lengths = np.array([len(word) for word in X], dtype=np.float64)
    return expit(theta[:, :1] + theta[:, 1:] * (lengths - 4))


def _families_by_name() -> dict[str, Family]:
    m = er.models
    shifts, slopes = np.linspace(-1, 1, 6), np.linspace(-0.5, 2.5, 8)
    two, few = (shifts, slopes), np.linspace(-0.6, 1.2, 4)
    shares, scales = np.linspace(0.2, 0.8, 7), np.linspace(0.4, 3.0, 7)
    mixed = (shares, scales)
    positive = [(0.0, np.inf)] * 2
    dose = m.Function(hill, names=("ec50", "slope"), bounds=positive)
    word = m.Function(by_length, names=("intercept", "slope"), vectorized=True)
    halfway = m.Psychometric(m.Logistic(), guess=0.5)
    both_free = m.Psychometric(m.Probit(), guess="free", lapse="free")
    low, high = (0.0, 0.02, 0.1, 0.3), (0.3, 0.45, 0.6)
    odd = (-900.0, *slopes[:5], 60.0, 2e4)
    limits = ((0.0, 0.3, 0.5, 0.7, 1.0), (0.0, *scales, 1e3))
    doses = (np.linspace(0.3, 3.0, 7), np.linspace(0.5, 3.0, 7))
    two_by_two = (shifts[::2], slopes[::2])
    three = (*two_by_two, few)
    return {
        "logistic": Family("logistic", "line", two, (0.0, 1.0)),
        "logistic-2": Family(m.Logistic(), "plane", three, (0.0, 1.0, 0.4)),
        "logistic-3": Family(
            m.Logistic(), "space", (few[1:3], few, few[:3], few[:2]), (0.0, 1.0, 0.4, 0.0)
        ),
        "logistic-slopes": Family(m.Logistic(intercept=False), "plane", two, (1.0, 0.4)),
        # so steep that probabilities are 0 and 1 in floating point
        "logistic-steep": Family(m.Logistic(), "line", (shifts, odd)),
        "probit": Family("probit", "line", two, (0.0, 0.6)),
        "probit-2": Family(m.Probit(), "plane", three, (0.0, 0.6, 0.25)),
        "cloglog": Family("cloglog", "line", two, (-0.4, 0.7)),
        "laplace": Family(m.LaplaceMixture(locations=(1.0, -1.0)), "line", mixed, (0.5, 1.6)),
        "laplace-limits": Family(m.LaplaceMixture(), "line", limits),
        "gaussian": Family(m.GaussianMixture(locations=(0.8, -1.2)), "line", mixed, (0.45, 1.4)),
        "psychometric": Family(halfway, "levels", (*two_by_two, low), (0.0, 1.0, 0.02)),
        "psychometric-free": Family(
            both_free, "levels", (*two_by_two, high, low[:3]), (0.0, 0.6, 0.5, 0.02)
        ),
        "recalibration": Family(m.Recalibration(), "predictions", two, (0.0, 1.0)),
        "function": Family(dose, "doses", doses, (1.0, 1.5)),
        "words": Family(word, "words", two, (0.0, 0.5)),
    }


FAMILIES = _families_by_name()


# --- answers ------------------------------------------------------------------------------------


def answer_of(configuration: Configuration, folder: Path) -> Answer:
    """Ask the library.

    Parameters
    ----------
    configuration : Configuration
        What to ask.
    folder : Path
        Where memory maps and Parquet files go.
    """
    call = {"region": _ask_region, "compare": _ask_compare}.get(configuration.call, _ask_test)
    answer = call(configuration, folder)
    if configuration.key in UNSTABLE:
        answer["digests"] = None
    return answer


def digest(Z: Any) -> str:
    """Give 16 characters that stand for all bits of Z."""
    content = np.ascontiguousarray(Z, dtype=np.float64).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _settings(configuration: Configuration, data: Data) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "statistic": STATISTICS[configuration.statistic](data),
        "n_resamples": configuration.m - 1,
        "rng": 1,
        **dict(configuration.settings),
    }
    if settings["rng"] == "sequence":
        settings["rng"] = np.random.SeedSequence(7)
    if configuration.outcomes == "words":
        settings["pos_label"] = "ill"
    return settings


def _data(configuration: Configuration) -> Data:
    data = data_of(configuration.inputs, configuration.outcomes, configuration.n)
    return _varied(data, configuration.variation)


def _ask_region(configuration: Configuration, folder: Path) -> Answer:
    data, family = _data(configuration), FAMILIES[configuration.family]
    region = er.ConfidenceRegion(family.model, **_settings(configuration, data))
    region.fit(data.X, data.y)
    grid = family.grid(configuration.n * TRIALS.get(configuration.outcomes, 1))
    if configuration.asked == "single":
        theta = grid[[3, len(grid) // 2, -4]]
        ranks = [region.rank(one) for one in theta]
    else:
        five = np.linspace(2, len(grid) - 3, 5).astype(int)
        theta = grid if configuration.asked == "grid" else grid[five]
        ranks = region.rank(theta).tolist()
    # a few of many θ: whoever asked for so many asks by the same engine here
    shown = theta[::4] if configuration.asked == "grid" else theta
    answer: Answer = {"ranks": ranks, "digests": [digest(region.evaluate(one).Z) for one in shown]}
    if {"accepted_ranks", "confidence_level"} & dict(configuration.settings).keys():
        answer["contains"] = region.contains(theta).astype(int).tolist()
    return answer


def _ask_compare(configuration: Configuration, folder: Path) -> Answer:
    data = _data(configuration)
    candidates = {"given": data.p, "asked": _candidate, "even": np.full(len(data.p), 0.5)}
    table = er.compare(candidates, data.X, data.y, **_settings(configuration, data))
    return _of_table(table)


def _ask_test(configuration: Configuration, folder: Path) -> Answer:
    data = _data(configuration)
    parts, settings = _sources(configuration, data, folder)
    settings |= _settings(configuration, data)
    if configuration.variation == "candidate":
        parts["p"] = _candidate
    if configuration.variation == "by":
        settings["by"] = parts["by"]
    if configuration.call == "model":
        result: Any = er.model_test(parts["p"], parts["X"], parts["y"], **settings)
    else:
        result = er.calibration_test(parts["y"], parts["p"], **settings)
    if configuration.variation == "by":
        return _of_table(result)
    Z = np.concatenate([[result.statistic], result.null_distribution])
    return {"ranks": [result.rank], "digests": [digest(Z)]}


def _of_table(table: pd.DataFrame) -> Answer:
    """Give what a table tells, in which there is one Z per row only."""
    return {"ranks": table["rank"].tolist(), "digests": [digest(Z) for Z in table["statistic"]]}


def _candidate(X: Any) -> np.ndarray:
    """Give probabilities of rows, of an array or of a frame."""
    rows = X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
    return expit(rows[:, 0] + 0.4 * rows[:, 1])


# --- rows that are not in memory ----------------------------------------------------------------


def _sources(
    configuration: Configuration, data: Data, folder: Path
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give X, y, p and groups as a source has them, and what else the call needs to know."""
    kind, _, how = configuration.source.partition("-")
    arrays = {"X": data.X, "y": data.y, "p": data.p}
    if kind == "memory":
        return {**arrays, "by": data.by}, {}
    place = folder / f"{configuration.inputs}-{configuration.outcomes}-{configuration.n}"
    if kind == "map":
        return {name: _mapped(place, name, own) for name, own in arrays.items()} | {
            "by": data.by
        }, {}
    if kind == "dask" and how.startswith("array"):
        number = int(how.partition("-")[2])
        return {name: _chunked(own, number) for name, own in arrays.items()}, {}
    frame = _frame(data)
    inputs = [name for name in frame.columns if name.startswith("x")]
    y = "y" if "y" in frame else ["successes", "failures"]
    parts = {"X": inputs, "y": y, "p": "p", "by": "by"}
    if kind == "frame":
        return parts, {"data": frame}
    if kind == "parquet":
        return parts, {"data": _written(place, frame, in_parts=how == "parts")}
    if kind == "dask":
        import dask.dataframe as dd

        return parts, {"data": dd.from_pandas(frame, npartitions=int(how.partition("-")[2]))}
    raise ValueError(f"There is no source called {configuration.source!r}.")


def _frame(data: Data) -> pd.DataFrame:
    X = np.asarray(data.X).reshape(len(data.p), -1)
    columns = {f"x{number}": column for number, column in enumerate(X.T)}
    names = ["y"] if data.y.ndim == 1 else ["successes", "failures"]
    columns |= dict(zip(names, np.atleast_2d(data.y.T), strict=True))
    return pd.DataFrame({**columns, "p": data.p, "by": data.by})


def _mapped(place: Path, name: str, values: np.ndarray) -> np.ndarray:
    place.mkdir(exist_ok=True)
    file = place / f"{name}.npy"
    if not file.exists():
        np.save(file, values)
    mapped: np.ndarray = np.load(file, mmap_mode="r")
    return mapped


def _chunked(values: np.ndarray, number: int) -> Any:
    import dask.array as da

    return da.from_array(values, chunks=(-(-len(values) // number), *values.shape[1:]))


def _written(place: Path, frame: pd.DataFrame, *, in_parts: bool) -> str:
    """Write Parquet files; in parts with row groups that match nothing, for a pattern of names."""
    place.mkdir(exist_ok=True)
    if not in_parts:
        frame.to_parquet(place / "all.parquet", row_group_size=30_000)
        return str(place / "all.parquet")
    cuts = [0, len(frame) // 3, len(frame) // 3 + 1, len(frame)]
    for part, (start, stop) in enumerate(pairwise(cuts)):
        size = 1 + 9_999 * (part + 1)
        frame[start:stop].to_parquet(place / f"part{part}.parquet", row_group_size=size)
    return str(place / "part*.parquet")


# --- recording and comparing --------------------------------------------------------------------


def environment() -> dict[str, str]:
    """Return what the last bits of Z may depend on: versions, and the kind of processor.

    NumPy has loops of its own for processors with AVX-512, where OpenBLAS may have none.
    """
    versions = {name: version(name) for name in ("numpy", "scipy", "numba")}
    kinds = {str(each.get("architecture", "")) for each in threadpool_info()}
    processor = " ".join([platform.machine(), *sorted(kinds - {""})])
    x = np.linspace(0.01, 9.0, 1000)
    values = np.concatenate([np.exp(-x), np.log(x), np.tanh(x), x**0.3])
    functions = hashlib.sha256(values.tobytes()).hexdigest()[:8]
    known = {"processor": processor, "functions": functions}
    return {"python": platform.python_version(), **versions, **known}


def read_net() -> dict[str, Any]:
    """Read what was recorded: "environment", and "configurations" by key."""
    net: dict[str, Any] = json.loads(NET.read_text(encoding="utf-8"))
    return net


def differences(found: Mapping[str, Any], known: Mapping[str, Any] | None) -> dict[str, int]:
    """Count the ranks (and contains) and digests of one configuration that differ."""
    if known is None:
        return {"ranks": len(found["ranks"]), "digests": len(found["digests"] or ())}
    ranks = _different(found["ranks"], known["ranks"])
    ranks += _different(found.get("contains"), known.get("contains"))
    digests = 0
    if known["digests"] is not None:
        digests = _different(found["digests"], known["digests"])
    return {"ranks": ranks, "digests": digests}


def _different(one: Sequence[Any] | None, other: Sequence[Any] | None) -> int:
    one, other = one or [], other or []
    apart = sum(a != b for a, b in zip(one, other, strict=False))
    return apart + abs(len(one) - len(other))


def record() -> None:
    """Evaluate all configurations, and write net.json with one of them per line."""
    lines = []
    for configuration, answer in _all_answers():
        known = {"combined": configuration.is_combined, **answer}
        lines.append(f"  {json.dumps(configuration.key)}: {json.dumps(known)}")
    start = f'{{\n "environment": {json.dumps(environment())},\n "configurations": {{\n'
    NET.write_text(start + ",\n".join(lines) + "\n }\n}\n", encoding="utf-8")
    _say(f"{len(lines)} configurations written to {NET}")


def compare() -> int:
    """Print how much differs from net.json; the exit code is 1 if anything but combined does."""
    net = read_net()["configurations"]
    counts: dict[tuple[str, bool], Counter[str]] = {}
    changed = []
    for configuration, answer in _all_answers():
        known = net.pop(configuration.key, None)
        apart = differences(answer, known)
        total = counts.setdefault((configuration.group, configuration.is_combined), Counter())
        total.update({"all": 1, "all ranks": len(answer["ranks"] or ())})
        total.update({"all digests": len(answer["digests"] or ())})
        total.update(apart)
        if any(apart.values()):
            total["changed"] += 1
            changed.append(f"{configuration.key}: {apart}{'' if known else ' (not recorded)'}")
    _say(f"{'group':<32}{'':<10}{'configurations':>16}{'ranks':>14}{'digests':>14}")
    sums: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for (group, combined), total in counts.items():
        sums[combined].update(total)
        _say(_line(group, combined, total))
    for combined, total in sums.items():
        _say(_line("all", combined, total))
    for line in changed:
        _say(f"differs: {line}")
    for key in net:
        _say(f"recorded, but not asked any more: {key}")
    return int(sums[False]["changed"] > 0 or len(net) > 0)


def _line(group: str, combined: bool, total: Counter[str]) -> str:
    shares = [
        f"{total[part]}/{total[whole]}"
        for part, whole in (("changed", "all"), ("ranks", "all ranks"), ("digests", "all digests"))
    ]
    kind = "combined" if combined else "others"
    return f"{group:<32}{kind:<10}{shares[0]:>16}{shares[1]:>14}{shares[2]:>14}"


def _all_answers() -> Iterator[tuple[Configuration, Answer]]:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for configuration in configurations():
            yield configuration, answer_of(configuration, Path(folder))
    _say(f"{time.perf_counter() - start:.0f} s")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--compare", action="store_true", help="compare, and write nothing")
    if parser.parse_args().compare:
        sys.exit(compare())
    record()
