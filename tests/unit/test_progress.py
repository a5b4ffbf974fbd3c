"""Progress goes to stderr, only where asked for, and never to stdout."""

import sys

import exactregion as er
from exactregion.progress import Watch, watching

FLIGHTS = er.datasets.oring()


def fitted(**options):
    region = er.ConfidenceRegion("logistic", n_resamples=49, rng=0, **options)
    return region.fit(FLIGHTS["temp"], FLIGHTS["y"])


def test_nothing_is_shown_by_default(capfd):
    fitted().intervals()
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_progress_counts_what_is_asked(monkeypatch, capfd):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_INTERACTIVE", "1")
    region = fitted(progress=True)
    region.intervals()
    out, err = capfd.readouterr()
    assert out == ""
    assert "intervals" in err
    assert "parameters asked" in err
    assert region._watch._bar is None


def test_work_within_work_keeps_one_bar():
    watch = Watch()
    with watching(watch, "outer", show=True):
        bar = watch._bar
        watch.advance(3)
        with watching(watch, "inner", show=True):
            assert watch._bar is bar
            watch.advance(4)
        assert bar.tasks[0].completed == 7
    assert watch._bar is None


def test_rich_is_loaded_only_when_a_bar_is_shown():
    import subprocess

    code = "import exactregion, sys; print('rich' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
