"""Small analyses to write reports of, and a reader of pages."""

from html.parser import HTMLParser

import numpy as np
import pytest
from support.effort import little_effort

import exactregion as er

EVIL = (
    "<script>window.__xss = 1</script>\"><img src=x onerror='window.__xss = 1'>"
    " $$x^2$$ {{ 7 * 7 }} </script> é"
)


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, attributes and texts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self._open = [], []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        element = {"tag": tag, "text": "", **dict(attrs)}
        self.elements.append(element)
        if tag not in {"meta", "input", "img", "link", "br"}:
            self._open.append(element)

    def handle_endtag(self, tag):
        while self._open and self._open.pop()["tag"] != tag:
            pass

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, **wanted):
        return [
            element
            for element in self.elements
            if element["tag"] == tag
            and all(element.get(name) == value for name, value in wanted.items())
        ]

    def texts(self, tag, **wanted):
        return [" ".join(element["text"].split()) for element in self.all(tag, **wanted)]


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with little_effort():
        yield


@pytest.fixture(scope="session")
def evil():
    """A name that would be a program, a picture or a formula if it were not kept a text."""
    return EVIL


@pytest.fixture(scope="session")
def read():
    return lambda path: Reader(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def flights():
    return er.datasets.oring()


@pytest.fixture(scope="session")
def region(flights):
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    return region.fit(flights["temp"], flights["y"])


@pytest.fixture(scope="session")
def cloud():
    d = er.datasets.spector()
    region = er.ConfidenceRegion("logistic", n_resamples=19, confidence_level=0.9, rng=0)
    return region.fit(d[["GPA", "PSI"]], d["GRADE"])


@pytest.fixture(scope="session")
def separated():
    x = np.arange(6.0)
    return er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(x, x > 2)


@pytest.fixture(scope="session")
def empty():
    x = np.linspace(-2, 2, 100)
    region = er.ConfidenceRegion("logistic", statistic="discrepancy", n_resamples=19, rng=0)
    return region.fit(x, np.abs(x) < 1)


@pytest.fixture(scope="session")
def one_slope():
    """A family with one parameter."""

    def curve(theta, x):
        return 1 / (1 + np.exp(-theta * x))

    x = np.linspace(-2, 2, 30)
    y = np.random.default_rng(1).random(30) < curve(1.5, x)
    model = er.models.Function(curve, names=("slope",), vectorized=True)
    return er.ConfidenceRegion(model, n_resamples=39, rng=0).fit(x, y)


@pytest.fixture(scope="session")
def tested(flights):
    return er.model_test(np.full(23, 1 / 3), flights[["temp"]], flights["y"], n_resamples=99, rng=0)


@pytest.fixture(scope="session")
def belt():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=80)
    y = rng.uniform(size=80) < p
    return er.calibration_belt(y, p**3, n_resamples=39, rng=0)
