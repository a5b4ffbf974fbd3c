"""Formulas: the matrix one would make by hand, the same coding for new rows, and clear errors."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import exactregion as er
from exactregion.data.design import Design
from exactregion.errors import InvalidTypeError, InvalidValueError, MissingDependencyError

RNG = np.random.default_rng(3)
N = 40
DATA = pd.DataFrame(
    {
        "ill": RNG.integers(0, 2, N),
        "age": RNG.normal(50.0, 10.0, N),
        "dose": RNG.integers(1, 4, N),
        "sex": RNG.choice(["female", "male"], N),
        "arm": RNG.choice(["a", "b", "c"], N),
        "blood pressure": RNG.normal(120.0, 10.0, N),
        "score": RNG.integers(1, 6, N),
        "note": ["free text"] * N,
    }
)
MALE = (DATA["sex"] == "male").to_numpy(float)
ARM = {level: (DATA["arm"] == level).to_numpy(float) for level in "abc"}
AGE = DATA["age"].to_numpy()


def design(formula, data=DATA):
    return Design.from_formula(formula, data)


def region(formula, data=DATA, **settings):
    return er.ConfidenceRegion.from_formula(
        formula, data, **{"n_resamples": 39, "rng": 0, **settings}
    )


# --- the matrix ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "columns"),
    [
        ("ill ~ age", {"age": AGE}),
        ("ill ~ age + sex", {"age": AGE, "sex[T.male]": MALE}),
        ("ill ~ C(sex)", {"C(sex)[T.male]": MALE}),
        ("ill ~ sex - 1", {"sex[female]": 1 - MALE, "sex[male]": MALE}),
        ("ill ~ 0 + sex", {"sex[female]": 1 - MALE, "sex[male]": MALE}),
        ("ill ~ arm", {"arm[T.b]": ARM["b"], "arm[T.c]": ARM["c"]}),
        (
            'ill ~ C(arm, contr.treatment("b"))',
            {
                'C(arm, contr.treatment("b"))[T.a]': ARM["a"],
                'C(arm, contr.treatment("b"))[T.c]': ARM["c"],
            },
        ),
        (
            "ill ~ C(dose)",
            {f"C(dose)[T.{k}]": (DATA["dose"] == k).to_numpy(float) for k in (2, 3)},
        ),
        (
            "ill ~ age*sex",
            {"age": AGE, "sex[T.male]": MALE, "age:sex[T.male]": AGE * MALE},
        ),
        ("ill ~ age:dose", {"age:dose": AGE * DATA["dose"]}),
        ("ill ~ np.log2(dose)", {"np.log2(dose)": np.log2(DATA["dose"])}),
        ("ill ~ `blood pressure`", {"blood pressure": DATA["blood pressure"]}),
        ("ill ~ {age / 10}", {"age / 10": AGE / 10}),
        ("ill ~ I(age > 50)", {"I(age > 50)": (AGE > 50).astype(float)}),
        ("ill ~ sex.str.startswith('f')", {"sex.str.startswith('f')": 1 - MALE}),
        ("ill ~ np.where(age > 50, age, 0)", {"np.where(age > 50, age, 0)": AGE * (AGE > 50)}),
        (
            "ill ~ scale(`blood pressure`)",
            {
                "scale(`blood pressure`)": (DATA["blood pressure"] - DATA["blood pressure"].mean())
                / DATA["blood pressure"].std()
            },
        ),
    ],
)
@pytest.mark.parametrize("make", [lambda data: data, pl.from_pandas], ids=["pandas", "polars"])
def test_the_matrix_is_the_one_made_by_hand(formula, columns, make):
    found = design(formula, make(DATA))
    assert found.names == tuple(name.replace('"', "'") for name in columns)
    np.testing.assert_allclose(found.matrix.to_numpy(), np.column_stack([*columns.values()]))
    assert found.matrix.dtypes.eq("float64").all()
    assert found.intercept == (not formula.endswith("- 1") and "0 +" not in formula)
    assert found.formula == formula


def test_a_dot_stands_for_all_other_columns():
    found = design("ill ~ .", DATA[["age", "ill", "sex"]])
    assert found.names == ("age", "sex[T.male]")
    assert design("ill + score ~ .", DATA[["age", "ill", "score"]]).names == ("age",)


def test_a_formula_keeps_the_columns_that_it_uses():
    found = design("I(score > 3) ~ np.log(dose):sex + `blood pressure`")
    assert found.data.columns.tolist() == ["dose", "sex", "blood pressure", "score"]
    assert found.columns == ("dose", "sex", "blood pressure")
    assert found.outcome == "I(score > 3)"


def test_a_quoted_name_is_a_column():
    found = design('ill ~ Q("blood pressure")')
    assert found.columns == ("blood pressure",)
    np.testing.assert_array_equal(found.matrix.iloc[:, 0], DATA["blood pressure"])


@pytest.mark.parametrize(
    "formula", ["ill ~ age*sex - 1", "ill ~ .", "I(score > 3) ~ bs(age, df=4) + poly(dose, 2)"]
)
def test_formula_and_data_make_the_same_design_again(formula):
    data = DATA.drop(columns="note")
    first = design(formula, data)
    again = design(first.formula, first.data)
    pd.testing.assert_frame_equal(again.matrix, first.matrix)
    pd.testing.assert_frame_equal(again.data, first.data)
    assert (again.names, again.intercept) == (first.names, first.intercept)
    new = data[:5]
    pd.testing.assert_frame_equal(again.transform(new), first.transform(new))


def test_categories_keep_their_order_and_lose_unused_levels():
    coded = pd.Categorical(DATA["arm"], categories=["c", "never", "b", "a"])
    for data in (
        DATA.assign(arm=coded),
        pl.from_pandas(DATA).with_columns(arm=pl.Series(DATA["arm"], dtype=pl.Enum(list("cba")))),
    ):
        assert design("ill ~ arm", data).names == ("arm[T.b]", "arm[T.a]")


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_text_of_every_kind_is_coded(kind):
    assert design("ill ~ sex", DATA.astype({"sex": kind})).names == ("sex[T.male]",)


@pytest.mark.parametrize("kind", ["Int64", "Float64", "object", "float32"])
def test_numbers_of_every_kind_are_numbers(kind):
    found = design("ill ~ dose", DATA.astype({"dose": kind}))
    assert found.names == ("dose",)
    np.testing.assert_array_equal(found.matrix["dose"], DATA["dose"])


def test_rows_are_counted_from_zero_whatever_the_index():
    shifted = DATA.set_index(np.arange(N) + 100)
    pd.testing.assert_frame_equal(design("ill ~ age", shifted).matrix, design("ill ~ age").matrix)


# --- the left side ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "change", "pos_label"),
    [
        ("ill ~ age", {}, None),
        ("ill ~ age", {"ill": 2 * DATA["ill"] - 1}, None),
        ("ill ~ age", {"ill": DATA["ill"] == 1}, None),
        ("ill ~ age", {"ill": np.where(DATA["ill"], "yes", "no")}, "yes"),
        ("ill ~ age", {"ill": pd.Categorical(np.where(DATA["ill"], "yes", "no"))}, "yes"),
        ("I(ill > 0) ~ age", {}, None),
        ("{ill == 'yes'} ~ age", {"ill": np.where(DATA["ill"], "yes", "no")}, None),
    ],
)
def test_labels_of_every_kind(formula, change, pos_label):
    by_hand = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(DATA[["age"]], DATA["ill"])
    found = region(formula, DATA.assign(**change), pos_label=pos_label)
    theta = np.array([[0.0, 0.0], [1.0, -0.02], [-3.0, 0.05]])
    np.testing.assert_array_equal(found.rank(theta), by_hand.rank(theta))


@pytest.mark.parametrize("formula", ["won + lost ~ dose", "won + I(trials - won) ~ dose"])
def test_successes_and_failures(formula):
    data = pd.DataFrame({"dose": [1, 2, 3], "won": [1, 4, 5], "lost": [7, 3, 1]})
    data["trials"] = data["won"] + data["lost"]
    by_hand = er.ConfidenceRegion("probit", n_resamples=39, rng=0)
    by_hand.fit(data[["dose"]], data[["won", "lost"]])
    found = region(formula, data, model="probit")
    theta = np.array([[0.0, 0.0], [-2.0, 1.0], [-1.0, 0.2]])
    np.testing.assert_array_equal(found.rank(theta), by_hand.rank(theta))
    assert found._fitted.sample.is_counts


@pytest.mark.parametrize(
    "formula", ["ill + dose + score ~ age", "ill:dose ~ age", "1 ~ age", "C(sex) ~ age"]
)
def test_what_is_no_left_side(formula):
    with pytest.raises(InvalidValueError, match=r"on the left side, or two, successes"):
        design(formula)


def test_outcomes_are_called_as_the_formula_does():
    with pytest.raises(InvalidValueError, match=r"'score' parameter must have two classes. Got 5"):
        region("score ~ age")
    with pytest.raises(InvalidValueError, match=r"'pos_label'.*which class of sex.*\['female'"):
        region("sex ~ age")


# --- regions ------------------------------------------------------------------------------------

THETA = np.array([[0.2, -0.01, 0.5], [0.0, 0.0, 0.0], [1.0, -0.03, -0.4]])


@pytest.mark.parametrize("model", ["logistic", "probit", "cloglog"])
def test_a_region_is_that_of_the_matrix_made_by_hand(model):
    found = region("ill ~ age + sex", model=model)
    by_hand = er.ConfidenceRegion(model, n_resamples=39, rng=0)
    by_hand.fit(np.column_stack([AGE, MALE]), DATA["ill"])
    assert found.parameter_names_ == ("intercept", "age", "sex[T.male]")
    np.testing.assert_array_equal(found.rank(THETA), by_hand.rank(THETA))
    np.testing.assert_array_equal(found.evaluate(THETA[0]).Z, by_hand.evaluate(THETA[0]).Z)


def test_a_formula_without_an_intercept():
    found = region("ill ~ age + sex - 1")
    assert found.parameter_names_ == ("age", "sex[female]", "sex[male]")
    by_hand = er.ConfidenceRegion(er.models.Logistic(intercept=False), n_resamples=39, rng=0)
    by_hand.fit(np.column_stack([AGE, 1 - MALE, MALE]), DATA["ill"])
    np.testing.assert_array_equal(found.rank(THETA), by_hand.rank(THETA))


def test_the_intercept_of_the_core_goes_with_the_formula():
    family = er.models.Psychometric(guess=0.0, lapse="free")
    assert region("ill ~ age - 1", model=family).parameter_names_ == ("age", "lapse")
    assert region("ill ~ age", model=family).parameter_names_ == ("intercept", "age", "lapse")


def test_a_function_is_given_the_columns_of_the_formula():
    share = er.models.Function(lambda th, X: X @ th, names=("f", "m"), bounds=[(0, 1), (0, 1)])
    found = region("ill ~ sex - 1", model=share)
    np.testing.assert_allclose(found.evaluate([0.3, 0.6]).probabilities, np.where(MALE, 0.6, 0.3))


@pytest.mark.parametrize(
    ("formula", "model", "message"),
    [
        ("ill ~ age - 1", er.models.LaplaceMixture(), "keep its intercept for LaplaceMixture"),
        ("ill ~ age", er.models.Logistic(intercept=False), "agree on the intercept.*write - 1"),
        ("ill ~ age", "tobit", "'model' parameter must be one of"),
    ],
)
def test_formula_and_family_must_fit_together(formula, model, message):
    with pytest.raises(InvalidValueError, match=message):
        region(formula, model=model)


def test_design_is_kept_and_gone_with_another_fit():
    found = region("ill ~ age")
    assert found.design_.formula == "ill ~ age"
    assert found.fit(AGE, DATA["ill"]).design_ is None


# --- new rows -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    return region("ill ~ np.log(age) + sex", DATA[:24], n_resamples=19)


NEW = pd.DataFrame({"sex": ["male", "female"], "other": [1, 2], "age": [45.0, 60.0]})
NEW_MATRIX = np.column_stack([np.log(NEW["age"]), [1.0, 0.0]])


@pytest.mark.parametrize("make", [lambda data: data, pl.from_pandas], ids=["pandas", "polars"])
def test_new_rows_are_coded_as_those_of_the_fit(make):
    found = design("ill ~ np.log(age) + sex", make(DATA)).transform(make(NEW))
    assert found.columns.tolist() == ["np.log(age)", "sex[T.male]"]
    np.testing.assert_array_equal(found, NEW_MATRIX)


def test_bands_and_decisions_take_frames_with_the_columns_of_the_data(fitted):
    coded = pd.DataFrame(NEW_MATRIX, columns=fitted.design_.names)
    by_frame, by_matrix = fitted.band(NEW), fitted.band(coded)
    np.testing.assert_array_equal(by_frame.lower, by_matrix.lower)
    np.testing.assert_array_equal(by_frame.upper, by_matrix.upper)
    np.testing.assert_array_equal(fitted.classify(pl.from_pandas(NEW)), 1 * (by_frame.lower > 0.5))


def test_the_classifier_of_a_risk_is_given_the_frame(fitted):
    seen = []
    risk = fitted.risk(DATA[:3], classifier=lambda X: seen.append(X) or [0, 1, 1])
    assert seen[0].equals(DATA[:3])
    assert 0 <= risk.lower <= risk.upper <= 1


@pytest.mark.parametrize(
    ("X", "takes"),
    [
        (NEW, True),
        (NEW[["age"]], True),
        (design("ill ~ np.log(age) + sex").matrix, False),
        (NEW_MATRIX, False),
        (NEW["age"], False),
        (pl.from_pandas(NEW), True),
    ],
)
def test_a_matrix_is_taken_as_it_is_and_a_frame_through_the_formula(X, takes):
    assert design("ill ~ np.log(age) + sex").takes(X) == takes


def test_a_series_goes_through_the_formula():
    found = region("ill ~ np.log(age)", DATA[:24], n_resamples=19)
    ages = pd.Series([40.0, 60.0], name="age")
    coded = pd.DataFrame({"np.log(age)": np.log([40.0, 60.0])})
    np.testing.assert_array_equal(found.band(ages).upper, found.band(coded).upper)


@pytest.mark.parametrize("term", ["scale(age)", "center(age)", "poly(age, 2)", "bs(age, df=4)"])
def test_transforms_keep_the_state_of_the_fit(term):
    found = design(f"ill ~ {term}")
    np.testing.assert_allclose(found.transform(DATA[7:9]), found.matrix[7:9], rtol=1e-12)


@pytest.mark.parametrize(
    ("column", "values", "error", "message"),
    [
        (
            "sex",
            ["male", "other"],
            InvalidValueError,
            r"levels of 'sex' that the fit had, \['female', 'male'\]. Got 'other' in row 1",
        ),
        ("dose", [1, 7], InvalidValueError, r"levels of 'dose' .*\[1, 2, 3\]. Got .*7.* in row 1"),
        (
            "age",
            [50.0, np.nan],
            InvalidValueError,
            "missing values. Got one in row 1, column 'age'",
        ),
        (
            "sex",
            ["male", None],
            InvalidValueError,
            "missing values. Got one in row 1, column 'sex'",
        ),
        ("age", [50.0, -1.0], InvalidValueError, r"finite. Got nan in row 1 of 'np.log\(age\)'"),
        ("age", ["old", "young"], InvalidTypeError, "numbers in column 'age', as the fit had"),
        ("sex", [1, 2], InvalidValueError, "levels of 'sex'.*Got .*1.* in row 0"),
    ],
)
@pytest.mark.parametrize("kind", [None, "category"])
def test_new_rows_that_cannot_be_coded(column, values, error, message, kind):
    data = DATA if kind is None else DATA.astype({"sex": kind})
    found = design("ill ~ np.log(age) + sex + C(dose)", data)
    new = pd.DataFrame({"age": [50.0, 60.0], "sex": ["male", "female"], "dose": [1, 2]})
    assert found.transform(new).shape == (2, 4)
    with pytest.raises(error, match=f"{message}.* instead"):
        found.transform(new.assign(**{column: values}))


def test_levels_of_an_expression_that_the_fit_had_not():
    found = design("ill ~ C(sex.str.upper())")
    assert found.names == ("C(sex.str.upper())[T.MALE]",)
    with pytest.raises(InvalidValueError, match=r"'formula'.*OTHER"):
        found.transform(pd.DataFrame({"sex": ["other"]}))


def test_numbers_that_were_categories():
    data = DATA.assign(dose=pd.Categorical(DATA["dose"]))
    found = design("ill ~ dose", data)
    np.testing.assert_array_equal(found.transform(pd.DataFrame({"dose": [3]})), [[0.0, 1.0]])


def test_new_rows_beyond_the_knots():
    found = design("ill ~ bs(age, df=4)")
    with pytest.raises(InvalidValueError, match=r"evaluated on the data.*beyond"):
        found.transform(pd.DataFrame({"age": [1000.0]}))


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        (DATA[["age"]], InvalidValueError, r"columns \['age', 'sex'\].*without \['sex'\]"),
        (np.zeros((2, 3)), InvalidValueError, r"a frame with the columns \['age', 'sex'\]"),
        (np.zeros((2, 2)), InvalidValueError, r"does not take them as they are.*Got ndarray"),
    ],
)
def test_what_are_no_new_rows(fitted, X, error, message):
    with pytest.raises(error, match=message):
        fitted.band(X)


# --- what cannot be read ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (
            "ill ~ agee",
            r"columns of the data, \['ill', 'age', .*Got 'agee' instead. Did you mean 'a",
        ),
        ("ill ~ np.log(doze)", "Got 'doze' instead. Did you mean 'dose'"),
        ("il ~ age", "Got 'il' instead. Did you mean 'ill'"),
        ("ill ~ `blood presure`", "Got 'blood presure' instead. Did you mean 'blood pressure'"),
        ("ill ~ zzz", r"Got 'zzz' instead\.$"),
        ("ill ~ sqrt(age)", "Got 'sqrt' instead. Did you mean 'np.sqrt'"),
        ("ill ~ age +", "Got 'ill ~ age \\+' instead: "),
        ("ill ~ (age", r"Got 'ill ~ \(age' instead: Could not find matching"),
        ("ill ~ log(age,,)", "Got .* instead: invalid syntax"),
        ("ill ~ age sex", "Missing operator"),
        ("ill ~ 3", "Numeric literals"),
        ("~ age", "left of one ~"),
        ("age", "left of one ~"),
        ("", "left of one ~"),
        ("ill ~ age | sex", "left of one ~"),
        ("ill ~ np.log(sex)", "evaluated on the data. Got .*TypeError"),
        ("ill ~ C(age, levels=3)", "evaluated on the data"),
        ("ill ~ np.log(score - 3)", r"finite. Got (nan|-inf) in row \d+ of 'np.log\(score - 3\)'"),
    ],
)
def test_formulas_that_cannot_be_read(formula, message):
    with pytest.raises(InvalidValueError, match=message) as caught:
        design(formula)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "named"),
    [
        ("ill ~ __import__('os').system('true')", "__import__"),
        ("ill ~ scale(__import__('os').system('true'))", "__import__"),
        ("ill ~ open('x')", "open"),
        ("ill ~ eval('age')", "eval"),
        ("ill ~ age.to_csv('x')", "age.to_csv"),
        ("ill ~ np.load('x')", "np.load"),
        ("ill ~ np.random.normal(age)", "np.random"),
        ("ill ~ np.add.reduce(age)", "np.add.reduce"),
        ("ill ~ age.__class__", "age.__class__"),
        ("ill ~ contr.__class__", "contr.__class__"),
        ("ill ~ C(age).__wrapped__", r"C\(age\).__wrapped__"),
        ("ill ~ {(lambda: 1)()}", "lambda"),
        ("ill ~ {[k for k in age]}", "k"),
        ("ill ~ age[0]", r"age\[0\]"),
        ("ill ~ center(age - age.mean())", "age.mean"),
        ("ill ~ I('%s'.format(age))", "format"),
        ("ill ~ I(f'{age.__class__}')", "age.__class__"),
        ("ill ~ lag(age)", "lag"),
        ("open('x') ~ age", "open"),
    ],
)
def test_a_formula_runs_nothing_but_arithmetic(formula, named, monkeypatch):
    """Rows are coded one by one, and a formula out of a file can do no harm."""
    monkeypatch.setattr("os.system", lambda command: pytest.fail("a formula ran a command"))
    with pytest.raises(InvalidValueError, match=f"'formula' parameter must.*Got .*{named}"):
        design(formula)


@pytest.mark.parametrize(
    ("change", "formula", "row"),
    [
        ({"age": np.where(np.arange(N) == 5, np.nan, AGE)}, "ill ~ age", 5),
        ({"sex": np.where(np.arange(N) == 6, None, DATA["sex"])}, "ill ~ age + sex", 6),
        ({"ill": np.where(np.arange(N) == 7, np.nan, DATA["ill"])}, "ill ~ age", 7),
        ({"age": pd.array([None, *AGE[1:]], dtype="Float64")}, "ill ~ age", 0),
        ({"ill": pd.array([True, None] * (N // 2), dtype="boolean")}, "ill ~ age", 1),
    ],
)
@pytest.mark.parametrize("make", [lambda data: data, pl.from_pandas], ids=["pandas", "polars"])
def test_missing_values_are_named_and_rows_never_dropped(change, formula, row, make):
    column = next(iter(change))
    with pytest.raises(
        InvalidValueError,
        match=rf"'data' parameter must not hold missing.*row {row}, column '{column}' instead",
    ):
        design(formula, make(DATA.assign(**change)))


def test_missing_values_elsewhere_do_not_matter():
    data = DATA.assign(note=None, score=np.nan)
    assert design("ill ~ age", data).matrix.shape == (N, 1)


@pytest.mark.parametrize(
    ("formula", "data", "error", "message"),
    [
        (3, DATA, InvalidTypeError, "'formula' parameter must be text.*Got int"),
        ("ill ~ age", DATA.to_dict("list"), InvalidTypeError, "'data'.*frame in memory. Got dict"),
        ("ill ~ age", DATA.to_numpy(), InvalidTypeError, "'data'.*frame in memory. Got ndarray"),
        ("ill ~ age", DATA[:0], InvalidValueError, "'data'.*at least one row"),
        (
            "ill ~ age",
            pd.concat([DATA, DATA], axis=1),
            InvalidValueError,
            "'data' parameter must have different names",
        ),
        (
            "ill ~ when",
            DATA.assign(when=pd.Timestamp("2020-01-01")),
            InvalidTypeError,
            r"numbers, text or categories. Got 'when' \(datetime",
        ),
        (
            "ill ~ Intercept",
            DATA.rename(columns={"age": "Intercept"}),
            InvalidValueError,
            "must not be called 'Intercept'",
        ),
        (
            "ill ~ scale(`a b`)",
            DATA.assign(**{"a b": AGE, "a_b": 2 * AGE}),
            InvalidValueError,
            "similar as 'a b' and 'a_b'",
        ),
    ],
)
def test_bad_arguments(formula, data, error, message):
    with pytest.raises(error, match=message):
        design(formula, data)


def test_without_formulaic_the_message_is_the_install_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install exactregion\[formula\]"):
        region("ill ~ age")


def test_the_outcome_is_no_input():
    with pytest.raises(InvalidValueError, match=r"must not use the outcome.*\['ill'\] on both"):
        design("ill ~ age + center(ill)")


@pytest.mark.parametrize("term", ["I(age + 0*(9**9**9))", "pow(9, 9)*age", "I(age + (1 << 99))"])
def test_powers_of_plain_numbers_are_refused(term):
    with pytest.raises(InvalidValueError, match=r"powers of plain numbers|powers of columns"):
        design(f"ill ~ {term}")


@pytest.mark.parametrize(
    "term",
    [
        "I(age + 99999999999999999999)",
        "I(age + 9999999999*9999999999*9999999999)",
        "I(age + int(1e300))",
        "round(1e300)*age",
    ],
)
def test_whole_numbers_that_have_no_end_are_refused(term):
    with pytest.raises(InvalidValueError, match="write the number"):
        design(f"ill ~ {term}")


@pytest.mark.parametrize(
    "term",
    [
        "I('a' * 9999999999)",
        "I([1] * 9999999999)",
        "I('%9999999999d' % 3)",
        "I(f'{3:9999999999}')",
        "I(age.astype('O'))",
        "I(age.astype('U99999999'))",
        "np.add(*[age, age])",
        "I(age if 1 else 2)",
        "I(age + 1j)",
        "I('a'.upper())",
    ],
)
def test_literals_are_numbers_and_text_and_nothing_is_made_of_them(term):
    with pytest.raises(InvalidValueError, match="work entry by entry"):
        design(f"ill ~ {term}")


@pytest.mark.parametrize(
    "terms",
    [
        "(age + sex)**50",
        "(age + sex)^50",
        "age**99999999999",
        "(age + sex)**(2 + 50)",
        "((age + sex)**8)**8",
        "*".join(f"np.log(age + {k})" for k in range(40)),
        ":".join(f"(age + np.log(age + {k}))" for k in range(40)),
        "bs(age, df=30000000)",
        "bs(age, 30000000)",
        "bs(age, df=int(age))",
        "poly(age, 1001)",
        "poly(age, degree=10*1000)",
        "hashed(sex, levels=5000000)",
        "hashed(sex, 50):hashed(arm, 50)",
        "C(age):C(`blood pressure`)",
        "age.astype('str'):C(`blood pressure`)",
        ":".join(f"C(sex == '{k}')" for k in range(40)),
        "+".join(f"I(age + {k})" for k in range(1001)),
    ],
)
def test_formulas_that_would_not_end_are_refused(terms):
    with pytest.raises(InvalidValueError, match="'formula' parameter must give at most 1,000"):
        design(f"ill ~ {terms}")


def test_formulas_of_many_terms_may_have_few():
    assert design("ill ~ (age + sex + score)**3").matrix.shape == (N, 7)
    assert design("ill ~ bs(age, df=20)").matrix.shape == (N, 20)


@pytest.mark.parametrize("terms", ["I(age" + "+1" * 20_000 + ")", "age +" * 5000, "Q(("])
def test_formulas_that_are_too_deep_are_refused(terms):
    with pytest.raises(InvalidValueError, match="'formula' parameter must"):
        design(f"ill ~ {terms}")


@pytest.mark.parametrize("term", ["Q('ILL'.lower())", "Q(*['ill'])", "Q(variable='ill')", "Q()"])
def test_quoted_columns_are_written_out(term):
    with pytest.raises(InvalidValueError, match=r"must (have one text in Q|use columns)"):
        design(f"ill ~ age + {term}")


def test_quoted_columns_are_columns():
    assert design("ill ~ Q('age')").columns == ("age",)
    with pytest.raises(InvalidValueError, match="must not use the outcome"):
        design("ill ~ Q('ill')")
    with pytest.raises(InvalidValueError, match="'formula' parameter must"):
        design("ill ~ Q('nowhere')")


def test_powers_of_columns_are_fine():
    np.testing.assert_allclose(design("ill ~ I(age**2)").matrix.iloc[:, 0], DATA["age"] ** 2)
