"""Make a file of predictions that are too low for one clinic."""

import numpy as np
import pandas as pd

import exactregion as er

rng = np.random.default_rng(7)
visits = pd.concat([er.datasets.pima_te()] * 4, ignore_index=True)
p = 1 / (1 + np.exp(9.8 - 0.032 * visits["glu"] - 0.09 * visits["bmi"] - 0.05 * visits["age"]))
clinic = rng.choice(["north", "south", "west"], len(visits))
truth = np.where(clinic == "west", np.sqrt(p), p)
visits = visits[["age", "bmi"]].assign(clinic=clinic, p=p.round(4), y=rng.random(len(p)) < truth)
visits.astype({"y": int}).to_csv("visits.csv", index=False)
print(f"{len(visits)} visits")
