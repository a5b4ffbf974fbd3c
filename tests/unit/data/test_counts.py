"""Repeated rows as counts: the same in memory and in pieces, and the same as counts given."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.data.counts import COUNTED, MOST_ROWS, collapsed, sample_of, tally_of
from exactregion.data.sample import CHUNK_ROWS, Sample
from exactregion.errors import InvalidValueError
from exactregion.statistics import Combined, Custom, Discrepancy, Embedding

N = 2 * CHUNK_ROWS + 777
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.integers(0, 9, N), RNG.integers(0, 4, N)]).astype(float)
P = ((X[:, 0] + 1) / 10).round(2)
Y = (RNG.random(N) < P).astype(int)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "p": P, "y": Y, "ill": np.where(Y, "yes", "no")})


def calibration(y, p, **settings):
    return er.calibration_test(y, p, **{"n_resamples": 39, "rng": 0, **settings})


def model(candidate, X, y, **settings):
    return er.model_test(candidate, X, y, **{"n_resamples": 39, "rng": 0, **settings})


def same(a, b):
    return a.rank == b.rank and np.array_equal(a.null_distribution, b.null_distribution)


def counts_by(keys):
    """Tally by pandas: different keys, and successes and failures of each."""
    table = pd.DataFrame(keys).assign(y=Y).groupby(list(range(keys.shape[1])))["y"]
    sums = table.agg(["sum", "count"]).reset_index()
    rows = sums.iloc[:, :-2].to_numpy()
    return rows, np.column_stack([sums["sum"], sums["count"] - sums["sum"]])


@pytest.fixture(scope="module")
def parquet(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "rows.parquet"
    FRAME.to_parquet(path, row_group_size=40_000)
    return path


def test_many_rows_are_tested_like_their_counts(parquet):
    (p,), counts = counts_by(P[:, None])[0].T, counts_by(P[:, None])[1]
    expected = calibration(counts, p)
    assert same(calibration(Y, P), expected)
    assert same(calibration("y", "p", data=parquet), expected)
    assert same(calibration("ill", "p", data=parquet, pos_label="yes"), expected)


def test_inputs_and_probabilities_tell_rows_apart(parquet):
    rows, counts = counts_by(np.column_stack([X, P]))
    expected = model(rows[:, 2], rows[:, :2], counts)
    assert same(model(P, X, Y), expected)
    assert same(model("p", ["a", "b"], "y", data=parquet), expected)
    tilted = np.where(np.arange(N) % 2, P, 0.9 * P)  # not a function of the inputs
    rows, counts = counts_by(np.column_stack([X, tilted]))
    assert same(model(tilted, X, Y), model(rows[:, 2], rows[:, :2], counts))


def test_candidates_are_asked_about_the_different_rows_only(parquet, tmp_path):
    asked = []

    def of_frame(frame):
        asked.append(len(frame))
        return (frame["a"] + 1) / 10

    assert same(model(of_frame, ["a", "b"], "y", data=parquet), model(P, X, Y))
    assert asked == [36]
    np.save(tmp_path / "x.npy", X[:, 0])
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert same(model(lambda x: (x + 1) / 10, mapped, Y), model(P, X[:, 0], Y))


def test_statistics_that_want_all_rows_at_once_have_them_as_counts(parquet):
    by_files = model("p", ["a", "b"], "y", data=parquet, statistic="neighborhood")
    assert same(by_files, model(P, X, Y, statistic="neighborhood"))


def test_functions_of_labels_see_every_row():
    seen = []

    def surprises(labels, p, X):
        seen.append(labels.shape)
        return ((labels > 0) != (p > 0.5)).sum(axis=1)

    model(P, X, Y, statistic=surprises, n_resamples=3)
    assert seen == [(4, N)]
    assert not Custom(surprises).merges_equal_rows
    assert not Combined(Discrepancy(), Custom(surprises)).merges_equal_rows
    assert Combined(Discrepancy(), Embedding()).merges_equal_rows
    assert not Discrepancy(er.kernels.Precomputed(np.eye(3))).merges_equal_rows


def test_counts_collapse_too():
    counts = np.column_stack([Y, 1 - Y])
    counts[::100] += 3
    keys = pd.DataFrame(counts).assign(p=P).groupby("p").sum().reset_index()
    expected = calibration(keys[[0, 1]].to_numpy(), keys["p"].to_numpy())
    assert same(calibration(counts, P), expected)


def test_the_question_has_the_different_probabilities(parquet):
    asked = calibration("y", "p", data=parquet).question
    assert asked.probabilities.tolist() == sorted(set(P))
    assert asked.trials.sum() == N
    assert asked.successes.sum() == Y.sum()
    assert len(calibration(Y, P).question.probabilities) == N


def test_groups(parquet):
    in_memory = calibration(Y, P, by=FRAME["b"])
    from_files = calibration("y", "p", by="b", data=parquet)
    pd.testing.assert_frame_equal(from_files, in_memory, rtol=1e-5)


@pytest.mark.parametrize(("different", "small"), [(MOST_ROWS, True), (MOST_ROWS + 1, False)])
def test_how_many_rows_may_differ(different, small):
    p = (np.arange(N) % different + 0.5) / different
    sample = Sample.from_data(p, Y)
    found = collapsed(sample, p[sample.inputs.order])
    assert (found is not None) == small
    if small:
        assert len(found[0]) == different
        assert found[0].successes.sum() == Y.sum()


def test_few_rows_stay_rows():
    sample = Sample.from_data(P[:CHUNK_ROWS], Y[:CHUNK_ROWS])
    assert collapsed(sample, P[:CHUNK_ROWS][sample.inputs.order]) is None


def test_different_rows_of_different_pieces_are_counted():
    p = np.arange(N) // 32 / N  # 2048 per chunk, and a few more than 4096 in all
    assert len(np.unique(p)) > MOST_ROWS
    assert collapsed(Sample.from_data(p, Y), p) is None


def test_tallies_know_outcomes_that_came_later():
    first = tally_of(np.array([[0.1], [0.1], [0.2]]), np.array([[1], [1], [1]]), ("no",))
    then = tally_of(np.array([[0.2], [0.3]]), np.array([[1, 0], [0, 1]]), ("yes", "no"))
    both = first.merged(then)
    assert both.outcomes == ("no", "yes")
    assert both.rows.tolist() == [[0.1], [0.2], [0.3]]
    assert both.counts.tolist() == [[2, 0], [1, 1], [1, 0]]


def test_an_outcome_that_never_came():
    tally = tally_of(np.array([[0.1, 0.1]]), np.array([[7]]), ("no",))
    sample, p = sample_of(tally, "yes")
    assert sample.successes.tolist() == [0]
    assert sample.inputs.trials.tolist() == [7]
    assert p.tolist() == [0.1]
    assert COUNTED[0] not in tally.outcomes


def test_three_classes_are_still_too_many(tmp_path):
    FRAME.assign(y=np.where(np.arange(N) == N - 1, 2, Y)).to_parquet(tmp_path / "three.parquet")
    with pytest.raises(InvalidValueError, match=r"two classes. Got 3 instead: 0, 1, 2"):
        calibration("y", "p", data=tmp_path / "three.parquet")
