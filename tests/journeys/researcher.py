"""A model of one's own: is it compatible with the data, and with which parameters?"""

import numpy as np

import exactregion as er


class Hill(er.models.Model):
    """P = 1 / (1 + (ec50 / x) ** slope)."""

    parameter_names = ("ec50", "slope")
    bounds = ((0.1, 100.0), (0.05, 20.0))

    def evaluate(self, theta, X):
        ec50, slope = theta.T[:, :, np.newaxis]
        return 1 / (1 + (ec50 / np.ravel(X)) ** slope)


moths = er.datasets.budworm().query("sex == 'male'")
y = np.column_stack([moths["ndead"], moths["ntotal"] - moths["ndead"]])
er.models.check_model(Hill(), moths["dose"])
published = er.model_test(lambda x: 1 / (1 + (4.7 / np.ravel(x)) ** 1.8), moths["dose"], y, rng=0)
print(f"ec50 4.7, slope 1.8: p = {published.pvalue}")
region = er.ConfidenceRegion(Hill(), n_resamples=99, rng=0).fit(moths["dose"], y)
print(region.intervals()[["estimate", "lower", "upper", "status", "certified"]].round(3))
print(region.goodness_of_fit())
region.plot().figure_.savefig("hill.png")
