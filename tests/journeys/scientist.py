"""Which doses, and does the sex matter? Twelve groups of twenty moths."""

import pandas as pd

import exactregion as er

moths = pd.read_csv("budworm.csv")
moths["alive"] = moths["ntotal"] - moths["ndead"]
formula = "ndead + alive ~ sex + np.log2(dose)"
region = er.ConfidenceRegion.from_formula(formula, moths, n_resamples=99, rng="data")
print(region.summary())
print(region.threshold("dose", at={"sex": "male"}))
print(region.threshold("dose", at={"sex": "female"}, relative_to={"sex": "male"}))
print(er.compare_nested("ndead + alive ~ np.log2(dose)", formula, moths, n_resamples=99, rng=0))
