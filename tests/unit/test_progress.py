"""Progress goes to stderr, only where asked for and where it can be seen, never to stdout."""

import subprocess
import sys

import pytest

import exactregion as er
from exactregion.progress import Plan, Stage, Watch, planned, watching

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
    region = fitted(progress=True)
    region.intervals()
    with planned([Stage("intervals", 100)], show=True) as plan, plan.stage("intervals"):
        region.intervals()
    assert capfd.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_progress_counts_what_is_asked(capfd):
    region = fitted(progress=True)
    region.intervals()
    out, err = capfd.readouterr()
    assert out == ""
    assert "intervals" in err
    assert "parameters asked" in err
    assert region._watch._shown is None


@pytest.mark.usefixtures("terminal")
def test_work_within_work_keeps_one_bar():
    watch = Watch()
    with watching(watch, "outer", show=True):
        shown = watch._shown
        with watching(watch, "inner", show=True):
            assert watch._shown is shown
        assert watch._shown is shown
    assert watch._shown is None


@pytest.mark.usefixtures("terminal")
def test_a_plan_shows_stages_and_time_left(capfd):
    region = fitted()
    with planned([Stage("region", 1200), Stage("intervals", 6400)], show=True) as plan:
        with plan.stage("region"):
            region.outline()
            assert plan.completed > 0  # the search found the plan
        with plan.stage("intervals"):
            region.intervals()
        assert plan.completed == 7600
    out, err = capfd.readouterr()
    assert out == ""
    assert "region" in err
    assert "intervals" in err
    assert "left" in err
    assert "parameters asked" not in err
    region.outline()
    assert capfd.readouterr() == ("", "")  # the plan is over


def test_a_stage_that_takes_longer_than_planned_is_not_done_before_it_is():
    plan = Plan([Stage("short", 10, 2.0), Stage("long", 100)])
    with plan.stage("short"):
        plan.advance(5)
        assert plan.completed == 10
        plan.advance(1000)
        assert 10 < plan.completed < 20
    assert plan.completed == 20
    with plan.stage("not planned"):
        plan.advance(1000)
        assert plan.completed == 20
    with plan.stage("long"):
        pass
    assert plan.completed == 120


def test_rich_is_loaded_only_when_a_bar_is_shown():
    code = "import exactregion, sys; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
