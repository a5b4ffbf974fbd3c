"""The page for users of other tools names only what exists."""

import re
from functools import reduce
from pathlib import Path

import pytest

import exactregion as er

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text(encoding="utf8")
OWNERS = {"er": er, "region": er.ConfidenceRegion, "belt": er.CalibrationBelt}
NAMES = sorted(set(re.findall(r"\b((?:er|region|belt)(?:\.[a-z_A-Z]\w*)+)", PAGE)))


def test_the_page_names_much():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_names_exist(name):
    owner, *parts = name.split(".")
    assert reduce(getattr, parts, OWNERS[owner]) is not None


THEIRS = {
    "sklearn.calibration": ("calibration_curve", "CalibrationDisplay", "CalibratedClassifierCV"),
    "sklearn.metrics": ("brier_score_loss", "log_loss"),
    "sklearn.model_selection": ("permutation_test_score",),
    "statsmodels.formula.api": ("logit", "probit"),
    "statsmodels.stats.power": ("solve_power",),
    "scipy.stats": ("power",),
    "mapie.metrics.calibration": (
        "kolmogorov_smirnov_p_value",
        "kuiper_p_value",
        "spiegelhalter_p_value",
    ),
    "relplot": ("smECE",),
    "psignifit": ("psignifit",),
    "psignifit.psigniplot": ("plot_psychometric_function",),
    "psignifit._result": ("parameter_estimate", "threshold"),
}
"""Names of other packages on the page, by the module that has them, or whose classes do."""


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module, names in THEIRS.items() for name in names]
)
def test_names_of_other_packages_exist(module, name):
    assert re.search(rf"\b{name}\b", PAGE)
    found = pytest.importorskip(module)
    classes = [one for one in vars(found).values() if isinstance(one, type)]
    assert hasattr(found, name) or any(hasattr(one, name) for one in classes)
