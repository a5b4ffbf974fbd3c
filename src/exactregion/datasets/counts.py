"""Data sets whose outcomes are counted: so many successes among so many trials, at each level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exactregion.datasets._read import read

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["beetle", "budworm", "deguelin", "menarche", "two_afc"]


def beetle() -> pd.DataFrame:
    """Flour beetles after five hours in the vapour of carbon disulphide, at eight concentrations.

    One row a concentration; 481 beetles in all, of which 291 died. The complementary log-log curve
    fits them better than the logistic, which makes them a classic example of the choice of a link.

    Source: Bliss (1935), "The calculation of the dosage-mortality curve", Annals of Applied
    Biology 22, 134-167. The table stands in many textbooks; this copy comes from no package.

    Returns
    -------
    pandas.DataFrame
        8 rows, with the columns

        ``logdose``
            Base-10 logarithm of the concentration in mg/l.
        ``n``
            Number of beetles exposed.
        ``killed``
            Number of those that died.

    Examples
    --------
    >>> d = beetle()
    >>> d.head(2)
       logdose   n  killed
    0   1.6907  59       6
    1   1.7242  60      13

    As successes and failures:

    >>> import numpy as np
    >>> np.column_stack([d["killed"], d["n"] - d["killed"]])[0]
    array([ 6, 53])
    """
    return read("beetle.csv")


def budworm() -> pd.DataFrame:
    """Tobacco budworm moths after three days of an insecticide, by sex and dose.

    One row a batch of 20 moths (Heliothis virescens) of one sex, given one of six doses of the
    pyrethroid trans-cypermethrin; 240 moths in all, of which 111 were killed or knocked down.

    Source: Collett (1991), "Modelling Binary Data", Chapman and Hall, Example 3.7, as in the data
    set budworm of the R package pbkrtest.

    Returns
    -------
    pandas.DataFrame
        12 rows, with the columns

        ``sex``
            ``"male"`` or ``"female"``.
        ``dose``
            Dose in µg: 1, 2, 4, 8, 16 or 32.
        ``ldose``
            Base-2 logarithm of ``dose``.
        ``ndead``
            Number of moths dead or knocked down.
        ``ntotal``
            Number of moths in the batch, always 20.

    Examples
    --------
    >>> d = budworm()
    >>> d.head(2)
        sex  dose  ldose  ndead  ntotal
    0  male     1      0      1      20
    1  male     2      1      4      20

    As successes and failures:

    >>> import numpy as np
    >>> np.column_stack([d["ndead"], d["ntotal"] - d["ndead"]])[0]
    array([ 1, 19])
    """
    return read("budworm.csv")


def deguelin() -> pd.DataFrame:
    """Chrysanthemum aphids under six doses of the insecticide deguelin.

    One row a dose; 292 aphids (Macrosiphoniella sanborni) in all, of which 210 died. The
    log-logistic curve fits these data badly.

    Source: Morgan (1992), "Analysis of Quantal Response Data", Chapman and Hall, Table 3.9, as in
    the data set deguelin of the R package drc, by way of the collection Rdatasets.

    Returns
    -------
    pandas.DataFrame
        6 rows, with the columns

        ``dose``
            Dose, in a unit that drc does not name; 10 to the power ``log10dose``.
        ``log10dose``
            Base-10 logarithm of the dose, to two decimals.
        ``r``
            Number of aphids that died.
        ``n``
            Number of aphids treated.

    Examples
    --------
    >>> d = deguelin()
    >>> d.head(2)
            dose  log10dose   r   n
    0   5.128614       0.71  16  49
    1  10.000000       1.00  18  48

    As successes and failures:

    >>> import numpy as np
    >>> np.column_stack([d["r"], d["n"] - d["r"]])[0]
    array([16, 33])
    """
    return read("deguelin_quantal.csv").drop(columns="rownames")


def menarche() -> pd.DataFrame:
    """Warsaw girls who had reached menarche, by age.

    One row a group of girls of about the same age; 3918 girls in all, of which 2308 had reached
    menarche: none in the three youngest groups, all in the oldest.

    Source: Milicer and Szczotka (1966), "Age at menarche in Warsaw girls in 1965", Human Biology
    38, 199-203, as in the data set menarche of the R package MASS.

    Returns
    -------
    pandas.DataFrame
        25 rows, with the columns

        ``Age``
            Mean age of the group in years.
        ``Total``
            Number of girls in the group.
        ``Menarche``
            Number of those who had reached menarche.

    Examples
    --------
    >>> d = menarche()
    >>> d.tail(2)
          Age  Total  Menarche
    23  15.83    114       112
    24  17.58   1049      1049

    As successes and failures:

    >>> import numpy as np
    >>> np.column_stack([d["Menarche"], d["Total"] - d["Menarche"]])[23]
    array([112,   2])
    """
    return read("menarche.csv")


def two_afc() -> pd.DataFrame:
    """Correct answers of an observer who must choose between two alternatives, by stimulus level.

    One row a stimulus level with 90 trials; 1170 trials in all, of which 837 were answered
    correctly. Guessing is right half of the time, so the curve starts at 1/2 and not at 0.

    Source: the first worked example of the software psignifit, there said to come from a simple
    signal detection experiment; no publication of the data is named. The software: Schütt,
    Harmeling, Macke and Wichmann (2016), "Painfree and accurate Bayesian estimation of
    psychometric functions for (potentially) overdispersed data", Vision Research 122, 105-123.

    Returns
    -------
    pandas.DataFrame
        13 rows, with the columns

        ``level``
            Stimulus level, in a unit that psignifit does not name.
        ``n_correct``
            Number of correct answers.
        ``n_total``
            Number of trials, always 90.

    Examples
    --------
    >>> d = two_afc()
    >>> d.head(2)
        level  n_correct  n_total
    0  0.0010         45       90
    1  0.0015         50       90

    As successes and failures:

    >>> import numpy as np
    >>> np.column_stack([d["n_correct"], d["n_total"] - d["n_correct"]])[1]
    array([50, 40])
    """
    return read("psignifit_2afc.csv")
