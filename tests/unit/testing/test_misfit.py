"""What the parts of a statistic say of a misfit."""

import json

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import exactregion as er
from exactregion.ranking import rank_of
from exactregion.statistics import Curvature, Discrepancy, Multiscale, Omnibus, Score, Spiegelhalter

P = np.random.default_rng(0).beta(1.0, 1.5, size=400).clip(0.005, 0.995)
L = logit(P)
WRONG = {
    "level": expit(L + 0.9),
    "spread": expit(0.45 * (L - L.mean()) + L.mean()),
    "curvature": expit(L + 0.5 * ((L + 0.3) ** 2 - 2.0)),
}


def outcomes(truth, seed=1):
    return np.random.default_rng(seed).random(len(truth)) < truth


@pytest.mark.parametrize("kind", WRONG)
def test_the_kind_is_named(kind):
    result = er.calibration_test(outcomes(WRONG[kind]), P, n_resamples=199, rng=0)
    assert result.pvalue == 0.005
    assert kind in result.misfit.kind
    assert result.misfit.part in [part.name for part in result.parts]


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (0.9, 1.0, "too low on average"),
        (-0.9, 1.0, "too high on average"),
        (0.0, 0.4, "too extreme: low ones are too low"),
        (0.0, 2.5, "not extreme enough: low ones are too high"),
    ],
)
def test_directions(a, b, words):
    p = np.linspace(0.02, 0.98, 500)
    result = er.calibration_test(outcomes(expit(a + b * logit(p))), p, n_resamples=99, rng=0)
    assert words in result.misfit.text


def test_a_wave_is_a_local_pattern_with_its_place():
    p = np.linspace(0.05, 0.95, 800)
    truth = p + 0.35 * (np.abs(p - 0.4) < 0.06)
    result = er.calibration_test(
        outcomes(truth),
        p,
        statistic=Omnibus(Discrepancy(bandwidth=0.125)),
        n_resamples=99,
        rng=0,
    )
    assert result.misfit.kind == "local pattern"
    assert "are too low" in result.misfit.text
    place = float(result.misfit.text.partition("around ")[2].split()[0])
    assert abs(place - 0.4) < 0.06


def test_parts_are_the_tests_of_each_part_with_the_same_draws():
    y = outcomes(P)
    result = er.calibration_test(y, P, n_resamples=99, rng=3)
    alone = [Score(), Spiegelhalter(), Curvature(), Discrepancy(), Discrepancy(bandwidth=0.125)]
    assert len(result.parts) == len(alone)
    for part, statistic in zip(result.parts, alone, strict=True):
        expected = er.calibration_test(y, P, statistic=statistic, n_resamples=99, rng=3)
        assert (part.rank, part.pvalue) == (expected.rank, expected.pvalue)
        assert part.statistic == expected.statistic
        np.testing.assert_array_equal(part.null_distribution, expected.null_distribution)
        assert expected.parts == ()


def test_ranks_of_parts_take_the_seat():
    """With equal Z everywhere the seat alone decides, for parts as for the whole."""
    ranks = set()
    for seed in range(12):
        result = er.calibration_test([1, 0], [1.0, 0.0], n_resamples=9, rng=seed)
        ranks.add(result.rank)
        assert {part.rank for part in result.parts} == {result.rank}
    assert len(ranks) > 3
    assert rank_of(np.zeros(4), 2) == 3


def test_ranks_of_parts_are_uniform_under_the_truth():
    p = np.linspace(0.1, 0.9, 15)
    low = np.zeros(5)
    for seed in range(200):
        result = er.calibration_test(outcomes(p, seed), p, n_resamples=4, rng=seed)
        low += [part.pvalue <= 0.4 for part in result.parts]
    tails = [binom.cdf(low, 200, 0.4).min(), binom.sf(low - 1, 200, 0.4).min()]
    assert min(tails) > 1e-6 / 5


def test_widths_of_multiscale_are_parts():
    x = np.linspace(-2, 2, 120)
    y = outcomes(expit(3 * np.sin(6 * x)))
    result = er.model_test(np.full(120, 0.5), x, y, n_resamples=99, rng=0)
    assert [part.kind for part in result.parts] == ["local pattern"] * 2 + ["broad pattern"] * 2
    assert result.parts[0].name == "discrepancy(gaussian(multiple=0.25))"
    assert result.misfit.kind == "local pattern"
    assert "inputs" in result.misfit.text or "around" in result.misfit.text
    assert Multiscale().parts[0].kernel.multiple == 0.25


@pytest.mark.parametrize("statistic", ["score", "discrepancy", lambda y, p, X: (y @ p) ** 2])
def test_every_rejection_has_a_diagnosis(statistic):
    result = er.calibration_test(
        outcomes(WRONG["level"]), P, statistic=statistic, n_resamples=99, rng=0
    )
    assert result.parts == ()
    assert result.misfit.kind == "level"
    assert "too low on average" in result.misfit.text


def test_contradictions_come_first():
    result = er.calibration_test([1, 0, 1], [0.0, 0.3, 0.6], n_resamples=19, rng=0)
    assert result.misfit.kind == "contradiction"
    assert result.pvalue == 0.05


@pytest.mark.parametrize(("y", "p"), [([1], [0.5]), ([1, 0], [0.3, 0.3]), ([1, 0], [1.0, 0.0])])
def test_next_to_no_data(y, p):
    result = er.calibration_test(y, p, n_resamples=19, rng=0)
    assert result.misfit.text
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False)) == result.to_dict()


def test_the_dictionary_has_stable_keys():
    content = er.calibration_test(outcomes(P), P, n_resamples=19, rng=7).to_dict()
    keys = "kind statistic resamples seed pvalue rank z misfit parts size"
    assert list(content) == keys.split()
    assert (content["statistic"], content["seed"]) == ("omnibus", 7)
    assert list(content["misfit"]) == ["kind", "text", "part"]
    assert list(content["parts"][0]) == ["name", "kind", "pvalue", "rank", "z"]


def test_tables_name_the_misfit():
    y = outcomes(WRONG["level"])
    groups = np.where(np.arange(400) < 200, "a", "b")
    table = er.calibration_test(y, P, by=groups, n_resamples=99, rng=0)
    assert all("level" in kind for kind in table["misfit"])
    other = er.compare({"flat": np.full(400, 0.9)}, P, y, n_resamples=99, rng=0)
    assert other.loc["flat", "misfit"] in ("broad pattern", "local pattern")
