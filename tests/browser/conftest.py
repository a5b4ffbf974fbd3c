"""Pages to open in a browser."""

import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import exactregion as er

EVIL = (
    "<script>window.__xss = 1</script>\"><img src=x onerror='window.__xss = 1'>"
    " $$x^2$$ {{ 7 * 7 }} </script> é"
)


def region_of(X, y, **settings):
    return er.ConfidenceRegion("logistic", n_resamples=39, rng=0, **settings).fit(X, y)


def plane():
    d = er.datasets.oring()
    return region_of(d["temp"], d["y"])


def cloud():
    d = er.datasets.spector()
    return region_of(d[["GPA", "PSI"]], d["GRADE"])


def line():
    def curve(theta, x):
        return 1 / (1 + np.exp(-theta * x))

    x = np.linspace(-2, 2, 30)
    y = np.random.default_rng(1).random(30) < curve(1.5, x)
    model = er.models.Function(curve, names=("slope",), vectorized=True)
    return er.ConfidenceRegion(model, n_resamples=39, rng=0).fit(x, y)


def evil():
    d = er.datasets.oring()
    return region_of(pd.DataFrame({EVIL: d["temp"], f"{EVIL} 2": d["pressure"]}), d["y"])


def tested():
    d = er.datasets.oring()
    return er.model_test(np.full(23, 1 / 3), d[["temp"]], d["y"], n_resamples=99, rng=0)


def belt():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=80)
    return er.calibration_belt(rng.uniform(size=80) < p, p**3, n_resamples=39, rng=0)


def models():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.001, 0.05, size=80)  # rare events, on logit axes
    return er.calibration_belt(rng.uniform(size=80) < 2 * p, {"a": p, EVIL: p**2}, **FEW)


def segments():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    frame = pd.DataFrame({EVIL: rng.choice(["a", "b"], 400), "$$x$$": rng.choice([EVIL, "c"], 400)})
    y = rng.uniform(size=400) < np.where(frame[EVIL] == "a", p**2, p)
    return er.segment_test(y, p, frame, n_resamples=99, rng=0)


FEW = {"n_resamples": 39, "rng": 0}
ANALYSES = {one.__name__: one for one in (plane, cloud, line, evil, tested, belt, models, segments)}


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """Write a page when it is first asked for; workers of one run share them."""
    folder = tmp_path_factory.mktemp("reports")
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = tmp_path_factory.getbasetemp().parent / "reports"
        folder.mkdir(exist_ok=True)

    def page(name):
        path = folder / f"{name}.html"
        if not path.exists():
            ANALYSES[name]().report(path, title=EVIL if name == "evil" else None)
        return path

    return page


@pytest.fixture
def visit(browser, written):
    """Open a page, and see to it that nothing goes wrong and nothing leaves it."""
    opened = []

    def open_page(name, **settings):
        path = written(name)
        context = browser.new_context(
            **{"viewport": {"width": 1160, "height": 1600}, "color_scheme": "light", **settings}
        )
        page = context.new_page()
        seen = SimpleNamespace(errors=[], requests=[], dialogs=[])
        opened.append((context, seen))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on(
            "console",
            lambda said: said.type in {"error", "warning"} and seen.errors.append(said.text),
        )
        page.on("request", lambda request: seen.requests.append(request.url))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=20_000)
        drawn(page)
        return page

    yield open_page
    for context, seen in opened:
        context.close()
        assert seen.errors == []
        assert seen.dialogs == []
        assert [
            url for url in seen.requests if not url.startswith(("file:", "data:", "blob:"))
        ] == []


def drawn(page):
    """Wait until what was asked for is on the canvas."""
    page.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 60)))")
