"""Options that cannot be: one clear message, exit code 2, before any work."""

import pytest

TEST = ("test", "oring.csv", "--formula", "y ~ temp", "--parameters", "15,-0.2")
COLUMN = ("test", "pima_predictions.csv", "--outcome", "y", "--probability", "p", "--inputs", "p")
FIT = ("fit", "oring.csv", "--outcome", "y", "--inputs", "temp", "--resamples", "19")
MOTHS = ("fit", "budworm.csv", "--outcome", "ndead", "--trials", "ntotal", "--inputs", "sex,ldose")
CALIBRATE = ("calibrate", "pima_predictions.csv", "--outcome", "y", "--probability", "p")

LINES = {
    "the outcome as an input": (
        ("fit", "oring.csv", "--outcome", "y", "--inputs", "temp,y"),
        "Column 'y' is the outcome. It must not be an input, a probability or a group",
    ),
    "the outcome as a group": (
        ("calibrate", "oring.csv", "--outcome", "y", "--probability", "pressure", "--by", "y"),
        "Column 'y' is the outcome",
    ),
    "the outcome among groups": (
        ("calibrate", "oring.csv", "--outcome", "y", "--probability", "pressure", "--by", "temp,y"),
        "Column 'y' is the outcome.",
    ),
    "two files for one picture": (
        (*COLUMN, "--plot", "new.png", "--plot", "other.png"),
        "--plot must be given once. Got it 2 times instead: new.png and other.png.",
    ),
    "two formulas": (
        ("fit", "oring.csv", "--formula", "y ~ temp", "--formula", "y ~ pressure"),
        "--formula must be given once. Got it 2 times instead: 'y ~ temp' and 'y ~ pressure'.",
    ),
    "cbind": (
        ("fit", "beetle.csv", "--formula", "cbind(killed, n - killed) ~ logdose"),
        "write killed + I(n - killed) on the left side",
    ),
    "a ratio": (
        ("fit", "beetle.csv", "--formula", "killed/n ~ logdose"),
        "write killed + I(n - killed) on the left side",
    ),
    "rows are counted from one": (
        ("fit", "oring.csv", "--formula", "y ~ np.log(temp - 66)"),
        "in row 1 (line 2) of",
    ),
    "a guard without a belt": (
        (*CALIBRATE, "--fail-above", "0.1", "--test-only"),
        "--fail-above goes by the belt",
    ),
    "an unknown limit": (
        (*CALIBRATE, "--fail-above", "uper=0.1"),
        "Got 'uper' instead. Did you mean 'upper'?",
    ),
    "a size that is none": ((*CALIBRATE, "--fail-above", "upper="), "--fail-above must be a share"),
    "a size above one": ((*CALIBRATE, "--fail-above", "5"), "--fail-above must be a share"),
    "a grid for people": ((*CALIBRATE, "--grid"), "--grid goes with --json, and with a belt."),
    "a grid without a belt": (
        (*CALIBRATE, "--grid", "--json", "--test-only"),
        "--grid goes with --json, and with a belt.",
    ),
    "a degree that is none": ((*CALIBRATE, "--degree", "4"), "--degree must be 1, 2 or 3. Got 4"),
    "a degree without a belt": (
        (*CALIBRATE, "--degree", "2", "--test-only"),
        "--degree is that of the belt",
    ),
    "no such command": (("tset",), "No such command 'tset'."),
    "no such option": ((*FIT, "--modle", "probit"), "No such option: --modle"),
    "no file": (("fit",), "Missing argument 'FILE'"),
    "no value": ((*FIT, "--model"), "requires an argument"),
    "no workers": ((*FIT, "--jobs", "0"), "--jobs must be a number of workers, 1 or more"),
    "no number": ((*FIT, "--seed", "one"), "Invalid value for '--seed'"),
    "nothing to test": (("test", "oring.csv", "--outcome", "y"), "--probability must name"),
    "no outcome": (("test", "oring.csv", "--probability", "y"), "--outcome must name the column"),
    "no outcome to calibrate": (
        ("calibrate", "oring.csv", "--probability", "y"),
        "--outcome must name the column with the outcome.\n",
    ),
    "no inputs": (("fit", "oring.csv", "--outcome", "y"), "--inputs must name the inputs"),
    "formula and outcome": ((*TEST, "--outcome", "y"), "--outcome must be left out"),
    "formula and inputs": ((*TEST, "--inputs", "temp"), "--inputs must be left out"),
    "formula and trials": ((*TEST, "--trials", "temp"), "--trials must be left out"),
    "both candidates": ((*TEST, "--probability", "y"), "--probability must be left out"),
    "model without parameters": ((*COLUMN, "--model", "probit"), "give both, or neither"),
    "formula that ends early": (("fit", "oring.csv", "--formula", "y ~ temp +"), "--formula must"),
    "formula without sides": (("fit", "oring.csv", "--formula", "temp"), "left of one ~"),
    "formula with an unknown column": (
        ("fit", "oring.csv", "--formula", "y ~ tmp"),
        "Got 'tmp' instead. Did you mean 'temp'?",
    ),
    "formula with counts alone": (
        ("fit", "oring.csv", "--formula", "n_failures ~ temp"),
        "write successes + failures in the formula",
    ),
    "too few parameters": ((*TEST[:-1], "15"), "Got 1 instead of 2."),
    "words as parameters": ((*TEST[:-1], "a,b"), "--parameters must be numbers"),
    "wrong names of parameters": ((*TEST[:-1], "intercept=1,tmp=2"), "Got 'tmp' instead."),
    "a parameter twice": ((*TEST[:-1], "temp=1,temp=2"), "Got 1 instead of 2."),
    "model": ((*FIT, "--model", "logit"), "Got 'logit' instead. Did you mean 'logistic'?"),
    "statistic": ((*FIT, "--statistic", "scor"), "Did you mean 'score'?"),
    "statistic of families": (
        (*COLUMN, "--statistic", "score"),
        "--statistic must not use the score for a fixed candidate",
    ),
    "statistic of a belt": ((*CALIBRATE, "--statistic", "score"), "goes with --test-only"),
    "guess": ((*FIT, "--guess", "0.5"), "--guess goes with --model psychometric only."),
    "guess too large": (
        (*FIT, "--model", "psychometric", "--guess", "2"),
        "--guess must be between 0 and 1, or 'free'. Got 2.0 instead.",
    ),
    "locations": ((*FIT, "--locations", "1,2"), "--model gaussian or laplace only"),
    "one location": (
        (*FIT, "--model", "laplace", "--locations", "1"),
        "--locations must be two finite numbers",
    ),
    "one column": (
        ("fit", "oring.csv", "--outcome", "y", "--inputs", "temp,pressure", "--model", "laplace"),
        "--inputs must have one column",
    ),
    "no resamples": ((*FIT[:-2], "--resamples", "0"), "--resamples must be between 1 and"),
    "negative seed": ((*FIT, "--seed", "-1"), "--seed must be a whole number, 0 or more. Got -1"),
    "confidence of 1": ((*FIT, "--confidence", "1"), "--confidence must be a share"),
    "confidence of 2": ((*FIT, "--confidence", "2"), "--confidence must be a share"),
    "words as confidence": ((*FIT, "--confidence", "high"), "Got 'high' instead."),
    "confidence out of reach": (
        (*FIT, "--confidence", "0.99999"),
        "--resamples must be at least 99999 for a confidence level of 0.99999. Got 19 instead.",
    ),
    "fail-below 0": ((*FIT, "--fail-below", "0"), "--fail-below must be a share"),
    "fail-below 5": ((*FIT, "--fail-below", "5"), "a percentage with its sign. Got '5' instead."),
    "fail-below out of reach": (
        (*FIT, "--fail-below", "0.01"),
        "the smallest p-value with --resamples 19 is 0.05. Use --resamples 99 or more.",
    ),
    "at without value": ((*FIT, "--at", "31"), "--at must be input=value, such as temp=70."),
    "at elsewhere": ((*FIT, "--at", "tmp=31"), "Got 'tmp' instead. Did you mean 'temp'?"),
    "at a word": ((*FIT, "--at", "temp=cold"), "--at must have a number for 'temp'"),
    "at no class": ((*MOTHS, "--at", "sex=m"), "one of 'female', 'male' for 'sex'. Got 'm'"),
    "at many of two": ((*MOTHS, "--at", "sex=male,female,ldose=1,2"), "for one input only"),
    "ed of nothing": ((*FIT, "--ed", "tmp=50"), "Got 'tmp' instead. Did you mean 'temp'?"),
    "ed of a class": ((*MOTHS, "--ed", "sex=50"), "--ed must be for an input that is a number"),
    "ed of which": (
        ("fit", "oring.csv", "--formula", "y ~ temp*pressure", "--ed", "50"),
        "--ed must name the input, one of 'temp', 'pressure': --ed temp=50.",
    ),
    "ed of a curve": (
        ("fit", "oring.csv", "--formula", "y ~ poly(temp, 2)", "--ed", "50"),
        "--ed must be an input that the formula takes as it is or by its logarithm",
    ),
    "ed as a share": ((*FIT, "--ed", "0.5"), "--ed must be percentages from 1 to 99"),
    "ed of a word": ((*FIT, "--ed", "fifty"), "Got 'fifty' instead"),
    "ed of guesses": (
        (*FIT, "--model", "psychometric", "--ed", "50"),
        "--ed must be above the guess rate, 0.5",
    ),
    "relative to nothing": ((*FIT, "--relative-to", "temp=1"), "--relative-to goes with --ed"),
    "picture of nothing": ((*FIT, "--picture", "curve"), "--picture goes with --plot"),
    "picture": ((*FIT, "--picture", "map", "--plot", "new.png"), "--picture must be one of"),
    "delimiter": ((*FIT, "--delimiter", ";;"), "--delimiter must be one character"),
    "decimal": ((*FIT, "--decimal", ";"), "--decimal must be '.' or ','"),
    "positive and trials": ((*MOTHS, "--positive", "1"), "--positive must be left out"),
    "positive of no class": (
        (*COLUMN, "--positive", "2"),
        "[0, 1]. Got 2.0 instead. Add --positive 1",
    ),
    "positive": ((*COLUMN, "--positive", "yes"), "--positive must be a number"),
    "by a number": ((*CALIBRATE, "--by", "p"), "--by must be a column of groups"),
    "unknown data set": (("datasets", "orin"), "Did you mean 'oring'?"),
    "paper with a negative seed": (("paper", "--seed", "-3"), "--seed must be"),
    "no region": (
        ("show", "oring.csv"),
        "cannot be loaded: it is not a file that exactregion saved",
    ),
    "no such region": (("show", "oring.npz"), "There is no file 'oring.npz'"),
}


@pytest.mark.parametrize(("line", "message"), LINES.values(), ids=LINES)
def test_the_message_says_what_is_wrong(run, data, monkeypatch, line, message):
    monkeypatch.chdir(data)
    before = sorted(data.iterdir())
    done = run(*line)
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("Error: ")
    assert "Traceback" not in done.err
    assert message in done.err
    assert sorted(data.iterdir()) == before


def test_groups_make_small_levels_unreachable(run, save):
    rows = "".join(f"{row % 2},0.5,{'abcd'[row % 4]}\n" for row in range(40))
    ask = ("--outcome", "y", "--probability", "p", "--by", "g", "--resamples", "39")
    path = save("y,p,g\n" + rows)
    done = run("calibrate", path, *ask, "--test-only", "--fail-below", "0.05")
    assert done.code == 2
    assert "the smallest p-value with --resamples 39 is 0.1. Use --resamples 79" in done.err


def test_only_certainties_leave_no_belt(run, save):
    path = save("y,p\n1,1\n0,0\n1,0\n")
    ask = ("calibrate", path, "--outcome", "y", "--probability", "p", "--resamples", "19")
    assert "Add --test-only." in run(*ask).err
    assert run(*ask, "--test-only", "--fail-below", "0.05").code == 1


@pytest.mark.parametrize("name", ["formula that ends early"])
def test_the_real_command_says_the_same(call, data, name):
    line, message = LINES[name]
    done = call(*line, cwd=data)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: ")
    assert message in done.err
