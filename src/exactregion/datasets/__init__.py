"""Small real data sets, each a function that returns a new frame, with where the data come from.

Outcomes are counted in groups in `beetle`, `budworm`, `deguelin`, `menarche` and `two_afc`; the
others have one outcome per row.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

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


def beetle() -> pd.DataFrame:
    """Flour beetles after five hours in the vapour of carbon disulphide, at eight concentrations.

    481 beetles in all, of which 291 died. The complementary log-log curve fits them better than the
    logistic, which makes them a classic example of the choice of a link.

    Source: Bliss (1935), "The calculation of the dosage-mortality curve", Annals of Applied
    Biology 22, 134-167. The table stands in many textbooks; this copy comes from no package.

    8 rows, with the columns

    - ``logdose``: base-10 logarithm of the concentration in mg/l
    - ``n``: number of beetles exposed
    - ``killed``: number of those that died

    Examples
    --------
    >>> import numpy as np
    >>> d = beetle()
    >>> np.column_stack([d["killed"], d["n"] - d["killed"]])[:2].tolist()
    [[6, 53], [13, 47]]
    """
    return _read("beetle")


def birthwt() -> pd.DataFrame:
    """Low birth weight, and what was known of the mother.

    One row per birth at Baystate Medical Center, Springfield, Massachusetts, in 1986; 59 of the 189
    babies weighed less than 2.5 kg. ``low`` follows from ``bwt``: leave ``bwt`` out of the inputs.

    Source: Hosmer and Lemeshow (1989), "Applied Logistic Regression", Wiley, as in the data set
    birthwt of the R package MASS.

    189 rows, with the columns

    - ``low``: the outcome, 1 if the baby weighed less than 2.5 kg
    - ``age``: age of the mother in years
    - ``lwt``: weight of the mother at the last menstrual period, in pounds
    - ``race``: 1 white, 2 black, 3 other: a code, not a number to compute with
    - ``smoke``: 1 if the mother smoked during the pregnancy
    - ``ptl``: number of earlier premature labours
    - ``ht``: 1 if the mother has had hypertension
    - ``ui``: 1 if the uterus was irritable
    - ``ftv``: number of visits to a physician in the first trimester
    - ``bwt``: weight of the baby in g

    Examples
    --------
    >>> birthwt()[["low", "age", "lwt", "bwt"]].head(2)
       low  age  lwt   bwt
    0    0   19  182  2523
    1    0   33  155  2551
    """
    return _read("birthwt")


def budworm() -> pd.DataFrame:
    """Tobacco budworm moths after three days of an insecticide, by sex and dose.

    One row per batch of 20 moths (Heliothis virescens) of one sex, given one of six doses of the
    pyrethroid trans-cypermethrin; 240 moths in all, of which 111 were killed or knocked down.

    Source: Collett (1991), "Modelling Binary Data", Chapman and Hall, Example 3.7, as in the data
    set budworm of the R package pbkrtest.

    12 rows, with the columns

    - ``sex``: ``"male"`` or ``"female"``
    - ``dose``: dose in µg: 1, 2, 4, 8, 16 or 32
    - ``ldose``: base-2 logarithm of ``dose``
    - ``ndead``: number of moths dead or knocked down
    - ``ntotal``: number of moths in the batch, always 20

    Examples
    --------
    >>> import numpy as np
    >>> d = budworm()
    >>> np.column_stack([d["ndead"], d["ntotal"] - d["ndead"]])[:2].tolist()
    [[1, 19], [4, 16]]
    """
    return _read("budworm")


def deguelin() -> pd.DataFrame:
    """Chrysanthemum aphids under six doses of the insecticide deguelin.

    One row per dose; 292 aphids (Macrosiphoniella sanborni) in all, of which 210 died. The
    log-logistic curve fits these data badly.

    Source: Morgan (1992), "Analysis of Quantal Response Data", Chapman and Hall, Table 3.9, as in
    the data set deguelin of the R package drc, by way of the collection Rdatasets.

    6 rows, with the columns

    - ``dose``: 10 to the power ``log10dose``, in a unit that drc does not name
    - ``log10dose``: base-10 logarithm of the dose, to two decimals
    - ``r``: number of aphids that died
    - ``n``: number of aphids treated

    Examples
    --------
    >>> import numpy as np
    >>> d = deguelin()
    >>> np.column_stack([d["r"], d["n"] - d["r"]])[:2].tolist()
    [[16, 33], [18, 30]]
    """
    return _read("deguelin")


def menarche() -> pd.DataFrame:
    """Warsaw girls who had reached menarche, by age.

    One row per group of girls of about the same age; 3918 girls in all, of which 2308 had reached
    menarche: none in the three youngest groups, all in the oldest.

    Source: Milicer and Szczotka (1966), "Age at menarche in Warsaw girls in 1965", Human Biology
    38, 199-203, as in the data set menarche of the R package MASS.

    25 rows, with the columns

    - ``Age``: mean age of the group in years
    - ``Total``: number of girls in the group
    - ``Menarche``: number of those who had reached menarche

    Examples
    --------
    >>> import numpy as np
    >>> d = menarche()
    >>> np.column_stack([d["Menarche"], d["Total"] - d["Menarche"]])[-2:].tolist()
    [[112, 2], [1049, 0]]
    """
    return _read("menarche")


def oring() -> pd.DataFrame:
    """O-ring failures on 23 flights of the space shuttle before the Challenger accident.

    One row per flight; O-rings were damaged on 7 of the 23. On 28 January 1986 Challenger was
    launched at 31 °F.

    Source: Dalal, Fowlkes and Hoadley (1989), "Risk analysis of the space shuttle: pre-Challenger
    prediction of failure", JASA 84, 945-957, as in the data set SpaceShuttle of the R package vcd;
    the flight whose O-rings were not recovered is left out.

    23 rows, with the columns

    - ``temp``: temperature of the joints at launch, °F
    - ``pressure``: pressure of the leak check, psi
    - ``y``: the outcome, 1 if any of the six primary O-rings was damaged
    - ``n_failures``: number of O-rings damaged

    Examples
    --------
    >>> oring()[["temp", "y"]].head(2)
       temp  y
    0    66  0
    1    70  1
    """
    return _read("oring")


def pima_predictions() -> pd.DataFrame:
    """Predicted probabilities of diabetes, and the outcomes, for the women of `pima_te`.

    One row per woman, in the order of `pima_te`; 109 of the 332 are diabetic. The predictions are
    those of a logistic regression of ``type`` on the seven other columns, fitted to `pima_tr`
    alone, so that tests of their calibration on these outcomes are exact.

    Source: computed with glm of R from Pima.tr and Pima.te of the R package MASS; see `pima_tr`.

    332 rows, with the columns

    - ``p``: predicted probability of diabetes
    - ``y``: the outcome, 1 if the woman is diabetic

    Examples
    --------
    >>> pima_predictions().head(2)
              p  y
    0  0.768404  1
    1  0.040305  0
    """
    return _read("pima_predictions")


def pima_te() -> pd.DataFrame:
    """Diabetes among Pima women: the test part.

    One row per woman; 109 of the 332 are diabetic. The women of `pima_tr` and these are one random
    division of the same 532 complete records.

    Source: Smith, Everhart, Dickson, Knowler and Johannes (1988), see `pima_tr`, as in the data
    set Pima.te of the R package MASS.

    332 rows, with the columns ``npreg``, ``glu``, ``bp``, ``skin``, ``bmi``, ``ped``, ``age``
    and ``type`` of `pima_tr`.

    Examples
    --------
    >>> pima_te()[["glu", "bmi", "age", "type"]].head(2)
       glu   bmi  age type
    0  148  33.6   50  Yes
    1   85  26.6   31   No
    """
    return _read("pima_te")


def pima_tr() -> pd.DataFrame:
    """Diabetes among Pima women: the training part.

    One row per woman of Pima heritage, at least 21 years old and living near Phoenix, Arizona; 68
    of the 200 are diabetic. Outcomes are words, so pass ``pos_label="Yes"`` or ``type == "Yes"``.

    Source: Smith, Everhart, Dickson, Knowler and Johannes (1988), "Using the ADAP learning
    algorithm to forecast the onset of diabetes mellitus", Proceedings of the Symposium on Computer
    Applications in Medical Care, 261-265, as in the data set Pima.tr of the R package MASS. It
    holds 200 women drawn at random from the 532 with complete records; `pima_te` has the others.

    200 rows, with the columns

    - ``npreg``: number of pregnancies
    - ``glu``: plasma glucose in an oral glucose tolerance test; MASS names no unit
    - ``bp``: diastolic blood pressure, mm Hg
    - ``skin``: thickness of the skin fold at the triceps, mm
    - ``bmi``: body mass index, kg/m²
    - ``ped``: diabetes pedigree function, a score of diabetes among relatives
    - ``age``: age in years
    - ``type``: the outcome, ``"Yes"`` if diabetic by the criteria of the WHO, else ``"No"``

    Examples
    --------
    >>> pima_tr()[["glu", "bmi", "age", "type"]].head(2)
       glu   bmi  age type
    0   86  30.2   24   No
    1  195  25.1   55  Yes
    """
    return _read("pima_tr")


def spector() -> pd.DataFrame:
    """Grades of economics students, some of them taught by a new method.

    One row per student; the grade of 11 of the 32 improved. The new method is the personalized
    system of instruction (PSI).

    Source: Spector and Mazzeo (1980), "Probit analysis and economic education", Journal of
    Economic Education 11, 37-44, as in the data set spector of the Python package statsmodels,
    which has it by permission of the author, who keeps all rights.

    32 rows, with the columns

    - ``GPA``: grade point average of the student
    - ``TUCE``: score in a test of economics
    - ``PSI``: 1 if the student was taught by the new method
    - ``GRADE``: the outcome, 1 if the grade improved

    Examples
    --------
    >>> spector().head(2)
        GPA  TUCE  PSI  GRADE
    0  2.66  20.0  0.0    0.0
    1  2.89  22.0  0.0    0.0
    """
    return _read("spector")


def two_afc() -> pd.DataFrame:
    """Correct answers of an observer who must choose between two alternatives, by stimulus level.

    One row per stimulus level with 90 trials; 1170 trials in all, of which 837 were answered
    correctly. Guessing is right half of the time, so the curve starts at 1/2 and not at 0.

    Source: the first worked example of the software psignifit, there said to come from a simple
    signal detection experiment; no publication of the data is named. The software: Schütt,
    Harmeling, Macke and Wichmann (2016), "Painfree and accurate Bayesian estimation of
    psychometric functions for (potentially) overdispersed data", Vision Research 122, 105-123.

    13 rows, with the columns

    - ``level``: stimulus level, in a unit that psignifit does not name
    - ``n_correct``: number of correct answers
    - ``n_total``: number of trials, always 90

    Examples
    --------
    >>> import numpy as np
    >>> d = two_afc()
    >>> np.column_stack([d["n_correct"], d["n_total"] - d["n_correct"]])[:2].tolist()
    [[45, 45], [50, 40]]
    """
    return _read("two_afc")


def _read(name: str) -> pd.DataFrame:
    """Read the CSV file of this name beside this module."""
    import pandas as pd

    with files(__name__).joinpath(f"{name}.csv").open(encoding="utf8") as file:
        return pd.read_csv(file)
