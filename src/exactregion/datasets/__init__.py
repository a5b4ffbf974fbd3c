"""Small real data sets, with where they come from.

Outcomes are counted in groups in `beetle`, `budworm`, `deguelin`, `menarche` and `two_afc`; the
others have one outcome a row.
"""

from exactregion.datasets.counts import beetle, budworm, deguelin, menarche, two_afc
from exactregion.datasets.single import (
    birthwt,
    oring,
    pima_predictions,
    pima_te,
    pima_tr,
    spector,
)

__all__ = [
    "beetle",
    "birthwt",
    "budworm",
    "deguelin",
    "menarche",
    "oring",
    "pima_predictions",
    "pima_te",
    "pima_tr",
    "spector",
    "two_afc",
]
