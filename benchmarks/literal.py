"""The paper's formulas as one would write them down with NumPy, for one θ."""

import numpy as np

__all__ = ["literal_2", "literal_3"]


def literal_3(x, labels, probabilities, sigma):
    """Algorithm III: ‖(1/n) Σ_j (y_ij - f(x_j)) k(x_j, ·)‖² for each data set i."""
    K = np.exp(-((x[:, None] - x[None, :]) ** 2) / (2 * sigma**2))
    residuals = labels - (2 * probabilities - 1)
    return np.array([r @ K @ r for r in residuals]) / len(x) ** 2


def literal_2(x, labels, sigma, pairs):
    """Algorithm II: ‖h_i - h_j‖² by the Gram matrix of both data sets, for some pairs (i, j)."""
    n = len(x)
    c = np.concatenate([np.full(n, 1 / n), np.full(n, -1 / n)])
    found = []
    for i, j in pairs:
        z = np.concatenate([x, x])
        y = np.concatenate([labels[i], labels[j]])
        squares = (z[:, None] - z[None, :]) ** 2 + (y[:, None] - y[None, :]) ** 2
        found.append(c @ np.exp(-squares / (2 * sigma**2)) @ c)
    return np.array(found)
