"""Progress goes to stderr, only where asked for and where it can be seen, never to stdout."""

import subprocess
import sys

import pytest

import exactregion as er
from exactregion.engine.progress import advance, showing

FLIGHTS = er.datasets.oring()


def fitted(**options):
    region = er.ConfidenceRegion("logistic", n_resamples=49, rng=0, **options)
    return region.fit(FLIGHTS["temp"], FLIGHTS["y"])


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    monkeypatch.setenv("COLUMNS", "80")


def test_nothing_is_shown_by_default(capfd):
    fitted().intervals()
    assert capfd.readouterr() == ("", "")


def test_nothing_is_shown_where_nobody_can_watch(capfd):
    fitted(progress=True).intervals()
    with showing("intervals", show=True):
        fitted().intervals()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_progress_counts_parameters(capfd):
    region = fitted(progress=True)
    region.intervals()
    out, err = capfd.readouterr()
    assert out == ""
    assert "intervals" in err
    assert "parameters evaluated" in err
    region.progress = False
    region.outline()
    assert capfd.readouterr() == ("", "")  # the display is closed


@pytest.mark.usefixtures("terminal")
def test_work_within_work_uses_the_display_of_the_outer_one(capfd):
    region = fitted()
    with showing("analysis", show=True, unit="steps"):
        region.outline()
        advance(7)
    out, err = capfd.readouterr()
    assert out == ""
    assert "region" in err  # the label of the inner work
    assert "steps" in err  # the display of the outer one
    assert "parameters evaluated" not in err


@pytest.mark.usefixtures("terminal")
def test_an_error_closes_the_display(capfd):
    with pytest.raises(ZeroDivisionError), showing("broken", show=True):
        _ = 1 / 0
    capfd.readouterr()
    advance(1)
    assert capfd.readouterr() == ("", "")


def test_rich_is_loaded_only_when_a_display_is_shown():
    code = "import exactregion, sys; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
