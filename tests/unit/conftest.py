"""What several files of unit tests share."""

from functools import partial

import pytest


@pytest.fixture
def firth_by_numpy(monkeypatch):
    """Let firthmodels work without Numba: a few fits take less than half a minute of compiling."""
    from firthmodels import FirthLogisticRegression

    by_numpy = partial(FirthLogisticRegression, backend="numpy")
    for module in ("coefficients", "firth"):
        monkeypatch.setattr(f"validation.peers.{module}.FirthLogisticRegression", by_numpy)
