"""Bands along the inputs of a region, one at a time."""

import numpy as np
import pandas as pd

import exactregion as er
from exactregion.report.inputs import bands_along_inputs
from exactregion.report.regions import explore


def test_inputs_with_few_values_are_shown_at_these_only(cloud):
    gpa, psi = bands_along_inputs(cloud)
    assert len(gpa.x) == 25
    assert gpa.held == "PSI = 0"
    assert psi.x.tolist() == [0, 1]
    assert psi.levels == ("0", "1")
    assert psi.held.startswith("GPA = 3.0")
    (bars,) = [
        renderer.data_source.data
        for renderer in explore(cloud).bands[1].root.renderers
        if type(renderer.glyph).__name__ == "VBar"
    ]
    assert bars["bottom"].tolist() == psi.lower.tolist()


def test_bands_along_the_columns_of_a_formula():
    d = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
    region = er.ConfidenceRegion.from_formula(
        "ndead + alive ~ sex + np.log2(dose)", d, n_resamples=19, rng=0
    )
    sex, dose = bands_along_inputs(region)
    assert sex.levels == ("female", "male")
    assert sex.x.tolist() == [0, 1]
    assert (dose.x[0], dose.x[-1]) == (1, 32)
    assert dose.held == "sex = female"
    frame = pd.DataFrame({"sex": ["female"] * len(dose.x), "dose": dose.x})
    np.testing.assert_allclose(dose.estimate, region.band(frame).estimate)
    x, share, _ = dose.marks()
    np.testing.assert_array_equal(x, d["dose"])
    np.testing.assert_allclose(share, d["ndead"] / d["ntotal"])
    assert len(dose.marks(5)[0]) == 5
