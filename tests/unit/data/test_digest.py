import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.data.digest import seed_of
from exactregion.data.sample import CHUNK_ROWS
from exactregion.data.sources import ArraySource, Rows

RNG = np.random.default_rng(5)
P = RNG.random(40)
Y = RNG.random(40) < P


def test_the_seed_of_the_data_gives_the_same_result_as_that_integer():
    result = er.calibration_test(Y, P, n_resamples=99, rng="data")
    again = er.calibration_test(Y, P, n_resamples=99, rng=result.question.seed)
    assert (again.rank, again.statistic) == (result.rank, result.statistic)


def test_order_and_kind_of_the_rows_do_not_matter():
    order = RNG.permutation(len(P))
    seeds = {
        seed_of(Rows(None, y, p))
        for y, p in [
            (Y, P),
            (Y[order], P[order]),
            (Y.astype(int).tolist(), P.tolist()),
            (np.where(Y, 1, -1), P),
            (np.where(Y, "yes", "no"), P),
            (pd.Series(Y, index=order), pd.Series(P, index=order)),
        ]
    }
    assert len(seeds) == 1


def test_zero_has_no_sign():
    assert seed_of(Rows(None, [0, 1], [0.0, 0.5])) == seed_of(Rows(None, [0, 1], [-0.0, 0.5]))


@pytest.mark.parametrize(
    "rows",
    [
        Rows(None, ~Y, P),
        Rows(None, np.r_[~Y[:1], Y[1:]], P),
        Rows(None, Y, np.r_[np.nextafter(P[:1], 1), P[1:]]),
        Rows(None, Y[1:], P[1:]),
        Rows(P, Y, None).map(lambda values: values[::-1])[:39],
    ],
)
def test_other_data_have_another_seed(rows):
    assert seed_of(rows) != seed_of(Rows(None, Y, P))


def test_candidates_for_the_same_data_have_the_same_seed():
    seeds = {er.model_test(p, P, Y, rng="data").question.seed for p in (P, P**2)}
    seeds.add(er.model_test(lambda x: x, P, Y, rng="data").question.seed)
    assert len(seeds) == 1


def test_chunks_have_the_seed_of_the_whole(tmp_path):
    n = CHUNK_ROWS + 10
    p = RNG.random(n)
    words = np.where(p > RNG.random(n), "yes", "no")
    rows = Rows(pd.DataFrame({"a": p, "b": words}), words, None)
    names = Rows("X", "y", None)
    assert seed_of(ArraySource(rows, names)) == seed_of(rows)
    pd.DataFrame({"p": p, "y": words == "yes"}).to_parquet(tmp_path / "rows.parquet")
    settings = {"n_resamples": 19, "rng": "data"}
    of_file = er.calibration_test("y", "p", data=tmp_path / "rows.parquet", **settings)
    in_memory = er.calibration_test(words == "yes", p, **settings)
    assert of_file.question.seed == in_memory.question.seed
    assert of_file.rank == in_memory.rank


def test_a_region_and_a_belt_say_which_seed_they_had():
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng="data").fit(P, Y)
    assert region.rng == "data"
    again = er.ConfidenceRegion("logistic", n_resamples=19, rng=region.fitted_.seed).fit(P, Y)
    assert again.rank([0.1, 1.0]) == region.rank([0.1, 1.0])
    belt = er.calibration_belt(Y, P, n_resamples=19, rng="data")
    assert belt.test.question.seed == belt.region.fitted_.seed is not None


@pytest.mark.parametrize(("y", "p"), [(3, P), ([[1, 2], [3]], [0.5, 0.5]), (Y[:5], P)])
def test_wrong_data_have_the_usual_error(y, p):
    with pytest.raises(er.ExactRegionError):
        er.calibration_test(y, p, rng="data")


def test_other_text_is_no_seed():
    with pytest.raises(TypeError, match="'data'"):
        er.calibration_test(Y, P, rng="date")


def test_groups_predicted_perfectly_have_seats_of_their_own():
    y = np.tile([0, 1], 40)
    table = er.calibration_test(y, y.astype(float), by=np.arange(80) // 8, n_resamples=999, rng=0)
    assert table["pvalue"].nunique() > 5


def test_a_group_keeps_its_draws_when_others_come():
    groups = np.arange(40) % 4
    table = er.calibration_test(Y, P, by=groups, n_resamples=99, rng=0)
    fewer = er.calibration_test(
        *(v[groups < 2] for v in (Y, P)), by=groups[groups < 2], n_resamples=99, rng=0
    )
    assert (fewer["rank"] == table.loc[[0, 1], "rank"]).all()
