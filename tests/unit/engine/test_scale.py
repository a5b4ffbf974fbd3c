"""Large data run in bounded memory; nothing of size n × n is ever made."""

import subprocess
import sys

import numpy as np
import pytest

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.kernels import Gaussian
from exactregion.statistics import Discrepancy

# not ru_maxrss, which a process inherits from the one that started it
PEAK = 'int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) * 1024'

SCRIPT = """
import numpy as np
import exactregion as er

rng = np.random.default_rng(0)
X = rng.normal(size=(100_000, 3))
y = rng.random(100_000) < 1 / (1 + np.exp(-X[:, 0]))
region = er.ConfidenceRegion("logistic", statistic="{statistic}", n_resamples=99, rng=0).fit(X, y)
far, true = region.rank([[0, 0, 0, 0], [0, 1, 0, 0]])
print(far, true, {peak})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
@pytest.mark.parametrize("statistic", ["combined", "embedding", "neighborhood"])
def test_100_000_rows_stay_under_2_gib(statistic):
    script = SCRIPT.format(statistic=statistic, peak=PEAK)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    far, true, peak = (int(word) for word in done.stdout.split())
    assert far == 100
    assert 1 <= true <= 100
    assert peak < 2 * 2**30


MANY_DATA_SETS = f"""
import numpy as np
import exactregion as er

rng = np.random.default_rng(0)
x = rng.normal(size=332)
p = 1 / (1 + np.exp(-x))
er.model_test(p, x, rng.random(332) < p, n_resamples=2**18 - 1, rng=0)
print({PEAK})
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_262_144_data_sets_stay_under_1_gib():
    command = [sys.executable, "-c", MANY_DATA_SETS]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    assert int(done.stdout) < 2**30


def test_2_000_rows_have_the_exact_factor():
    x = np.random.default_rng(1).normal(size=(2000, 2))
    inputs = Sample.from_data(x, np.arange(2000) % 2).inputs
    features = PreparedStatistic.of(Discrepancy("gaussian", 1.0), inputs, 100).shared[0]
    K = Gaussian(1.0).on(inputs, standardize=True).gram.columns(np.arange(2000))
    K = K[np.ix_(inputs.distinct.place, inputs.distinct.place)]
    assert np.abs(features.values @ features.values.T - K).max() < 1e-6  # the grid's own spacing
