"""Data sets with one binary outcome a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exactregion.datasets._read import read

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["birthwt", "oring", "pima_predictions", "pima_te", "pima_tr", "spector"]


def birthwt() -> pd.DataFrame:
    """Low birth weight, and what was known of the mother.

    One row a birth at Baystate Medical Center, Springfield, Massachusetts, in 1986; 59 of the 189
    babies weighed less than 2.5 kg. ``low`` follows from ``bwt``: leave ``bwt`` out of the inputs.

    Source: Hosmer and Lemeshow (1989), "Applied Logistic Regression", Wiley, as in the data set
    birthwt of the R package MASS.

    Returns
    -------
    pandas.DataFrame
        189 rows, with the columns

        ``low``
            The outcome: 1 if the baby weighed less than 2.5 kg.
        ``age``
            Age of the mother in years.
        ``lwt``
            Weight of the mother at the last menstrual period, in pounds.
        ``race``
            1 white, 2 black, 3 other: a code, not a number to compute with.
        ``smoke``
            1 if the mother smoked during the pregnancy.
        ``ptl``
            Number of earlier premature labours.
        ``ht``
            1 if the mother has had hypertension.
        ``ui``
            1 if the uterus was irritable.
        ``ftv``
            Number of visits to a physician in the first trimester.
        ``bwt``
            Weight of the baby in g.

    Examples
    --------
    >>> birthwt()[["low", "age", "lwt", "bwt"]].head(2)
       low  age  lwt   bwt
    0    0   19  182  2523
    1    0   33  155  2551
    """
    return read("birthwt.csv")


def oring() -> pd.DataFrame:
    """O-ring failures on 23 flights of the space shuttle before the Challenger accident.

    One row a flight; O-rings were damaged on 7 of the 23. On 28 January 1986 Challenger was
    launched at 31 °F.

    Source: Dalal, Fowlkes and Hoadley (1989), "Risk analysis of the space shuttle: pre-Challenger
    prediction of failure", JASA 84, 945-957, as in the data set SpaceShuttle of the R package vcd;
    the flight whose O-rings were not recovered is left out.

    Returns
    -------
    pandas.DataFrame
        23 rows, with the columns

        ``temp``
            Temperature of the joints at launch, °F.
        ``pressure``
            Pressure of the leak check, psi.
        ``y``
            The outcome: 1 if any of the six primary O-rings was damaged.
        ``n_failures``
            Number of O-rings damaged.

    Examples
    --------
    >>> oring()[["temp", "y"]].head(2)
       temp  y
    0    66  0
    1    70  1
    """
    return read("oring.csv")


def pima_predictions() -> pd.DataFrame:
    """Predicted probabilities of diabetes, and the outcomes, for the women of `pima_te`.

    One row a woman, in the order of `pima_te`; 109 of the 332 are diabetic. The predictions are
    those of a logistic regression of ``type`` on the seven other columns, fitted to `pima_tr`
    alone, so that tests of their calibration on these outcomes are exact.

    Source: computed with glm of R from Pima.tr and Pima.te of the R package MASS; see `pima_tr`.

    Returns
    -------
    pandas.DataFrame
        332 rows, with the columns

        ``p``
            Predicted probability of diabetes.
        ``y``
            The outcome: 1 if the woman is diabetic.

    Examples
    --------
    >>> pima_predictions().head(2)
              p  y
    0  0.768404  1
    1  0.040305  0
    """
    return read("pima_te_predictions.csv")


def pima_te() -> pd.DataFrame:
    """Diabetes among Pima women: the test part.

    One row a woman; 109 of the 332 are diabetic. The women of `pima_tr` and these are one random
    division of the same 532 complete records, with the same columns and the same source.

    Source: Smith, Everhart, Dickson, Knowler and Johannes (1988), see `pima_tr`, as in the data
    set Pima.te of the R package MASS.

    Returns
    -------
    pandas.DataFrame
        332 rows, with the columns, as in `pima_tr`,

        ``npreg``
            Number of pregnancies.
        ``glu``
            Plasma glucose in an oral glucose tolerance test; MASS names no unit.
        ``bp``
            Diastolic blood pressure, mm Hg.
        ``skin``
            Thickness of the skin fold at the triceps, mm.
        ``bmi``
            Body mass index, kg/m².
        ``ped``
            Diabetes pedigree function, a score of diabetes among relatives.
        ``age``
            Age in years.
        ``type``
            The outcome: ``"Yes"`` if diabetic by the criteria of the WHO, else ``"No"``.

    Examples
    --------
    >>> pima_te()[["glu", "bmi", "age", "type"]].head(2)
       glu   bmi  age type
    0  148  33.6   50  Yes
    1   85  26.6   31   No
    """
    return read("pima_te.csv")


def pima_tr() -> pd.DataFrame:
    """Diabetes among Pima women: the training part.

    One row a woman of Pima heritage, at least 21 years old and living near Phoenix, Arizona; 68 of
    the 200 are diabetic. Outcomes are words, so pass ``pos_label="Yes"`` or ``type == "Yes"``.

    Source: Smith, Everhart, Dickson, Knowler and Johannes (1988), "Using the ADAP learning
    algorithm to forecast the onset of diabetes mellitus", Proceedings of the Symposium on Computer
    Applications in Medical Care, 261-265, as in the data set Pima.tr of the R package MASS. It
    holds 200 women drawn at random from the 532 with complete records; `pima_te` has the others.

    Returns
    -------
    pandas.DataFrame
        200 rows, with the columns

        ``npreg``
            Number of pregnancies.
        ``glu``
            Plasma glucose in an oral glucose tolerance test; MASS names no unit.
        ``bp``
            Diastolic blood pressure, mm Hg.
        ``skin``
            Thickness of the skin fold at the triceps, mm.
        ``bmi``
            Body mass index, kg/m².
        ``ped``
            Diabetes pedigree function, a score of diabetes among relatives.
        ``age``
            Age in years.
        ``type``
            The outcome: ``"Yes"`` if diabetic by the criteria of the WHO, else ``"No"``.

    Examples
    --------
    >>> pima_tr()[["glu", "bmi", "age", "type"]].head(2)
       glu   bmi  age type
    0   86  30.2   24   No
    1  195  25.1   55  Yes
    """
    return read("pima_tr.csv")


def spector() -> pd.DataFrame:
    """Grades of economics students, some of them taught by a new method.

    One row a student; the grade of 11 of the 32 improved. The new method is the personalized
    system of instruction (PSI).

    Source: Spector and Mazzeo (1980), "Probit analysis and economic education", Journal of
    Economic Education 11, 37-44, as in the data set spector of the Python package statsmodels,
    which has it by permission of the author, who keeps all rights.

    Returns
    -------
    pandas.DataFrame
        32 rows, with the columns

        ``GPA``
            Grade point average of the student.
        ``TUCE``
            Score in a test of economics.
        ``PSI``
            1 if the student was taught by the new method.
        ``GRADE``
            The outcome: 1 if the grade improved.

    Examples
    --------
    >>> spector().head(2)
        GPA  TUCE  PSI  GRADE
    0  2.66  20.0  0.0    0.0
    1  2.89  22.0  0.0    0.0
    """
    return read("spector.csv")
