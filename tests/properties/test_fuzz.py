"""A few cases of ``make fuzz``: an answer or a clear error, and nothing else."""

from types import SimpleNamespace

import pytest

from validation.fuzz import KINDS, fuzz


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_given_there_is_an_answer_or_a_clear_error(kind, monkeypatch):
    monkeypatch.delenv("EXACTREGION_TRACEBACK", raising=False)
    (counts,) = fuzz((kind,), each=8).values()
    assert counts["others"] == 0
    assert counts["clear errors"] > 0


def test_a_defect_is_noticed(monkeypatch, capsys):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("by design")

    monkeypatch.setattr("validation.fuzz.Design", SimpleNamespace(from_formula=broken))
    monkeypatch.setattr("exactregion.cli.data.read_table", broken)
    for kind in ("formula", "parquet_file"):
        assert fuzz((kind,), each=2)[kind] == {"others": 2}
    assert "by design" in capsys.readouterr().err
