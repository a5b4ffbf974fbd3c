import matplotlib as mpl
import numpy as np
import pytest
from support.effort import little_effort

import exactregion as er


@pytest.fixture(scope="package", autouse=True)
def off_screen():
    """Draw without a screen."""
    import matplotlib.pyplot as plt

    plt.close("all")
    plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def as_found():
    """Close what was drawn, and see that no global setting was changed."""
    import matplotlib.pyplot as plt

    before = mpl.rcParams.copy()
    yield
    plt.close("all")
    assert mpl.rcParams == before


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with little_effort():
        yield


@pytest.fixture
def ax():
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


@pytest.fixture(scope="package")
def oring():
    """Two parameters, bounded."""
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    return region.fit(flights["temp"], flights["y"])


@pytest.fixture(scope="package")
def separated():
    """Two parameters, unbounded."""
    x = np.arange(12.0)
    return er.ConfidenceRegion("logistic", n_resamples=39, rng=1).fit(x, x > 5.5)


@pytest.fixture(scope="package")
def bent():
    """Two parameters, empty: no logistic curve falls and rises."""
    x = np.linspace(-2, 2, 160)
    region = er.ConfidenceRegion("logistic", statistic="discrepancy", n_resamples=39, rng=1)
    return region.fit(x, np.abs(x) > 1)


def one_parameter(x, y, **options):
    slope = er.models.Function(
        lambda th, x: 1 / (1 + np.exp(-np.clip(th[:, :1] * x, -500, 500))),
        names=("slope",),
        vectorized=True,
    )
    return er.ConfidenceRegion(slope, n_resamples=99, rng=1, **options).fit(x, y)


@pytest.fixture(scope="package")
def slope():
    """One parameter, bounded."""
    flights = er.datasets.oring()
    return one_parameter(flights["temp"].to_numpy(dtype=float) - 65, flights["y"])


@pytest.fixture(scope="package")
def three():
    """Three parameters."""
    data = er.datasets.spector()
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0)
    return region.fit(data[["GPA", "PSI"]], data["GRADE"])
