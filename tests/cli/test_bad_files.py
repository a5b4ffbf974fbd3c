"""Files that cannot serve: one clear message on stderr, exit code 2, never a traceback."""

import gzip
import os
import sys

import numpy as np
import pandas as pd
import pytest

GOOD = "y,p,x\n1,0.5,1\n0,0.25,2\n1,0.75,3\n0,0.5,4\n"
ASK = ("--outcome", "y", "--probability", "p", "--resamples", "19")

# name: (content, further options, what the message says)
FILES = {
    "wrong delimiter": (GOOD.replace(",", ";"), (), "separated by ';': add --delimiter ';'"),
    "wrong tabs": (GOOD.replace(",", "\t"), (), "separated by tab: add --delimiter tab"),
    "utf-16": (GOOD.encode("utf-16"), (), "is in UTF-16"),
    "latin-1": (GOOD.replace("y", "ÿ").encode("latin-1"), (), "not in UTF-8: line 1"),
    "empty": ("", (), "is empty"),
    "0 rows": ("y,p,x\n", (), "no rows below them"),
    "missing column": (GOOD.replace("p", "q"), (), "no column 'p'"),
    "text in a numeric column": (
        GOOD.replace("0.25", "abc"),
        (),
        "Column 'p' must hold numbers, but row 2 (line 3) has 'abc'.",
    ),
    "decimal comma": (GOOD.replace("0.25", '"0,25"'), (), "add --decimal ','"),
    "all decimal commas": (
        "y;p;x\n1;0,5;1\n0;0,2;2\n",
        ("--delimiter", ";"),
        "row 1 (line 2) has '0,5'. If the comma separates decimals, add --decimal ','.",
    ),
    "NaN": (GOOD.replace("0.25", "NaN"), (), "'NaN' (no value) in row 2 (line 3)"),
    "empty cell": (GOOD.replace("0.25", ""), (), "an empty cell in row 2 (line 3)"),
    "empty cell in an input": (GOOD.replace(",3\n", ",\n"), (), "Column 'x' has an empty cell"),
    "only missing": ("y,p,x\n,1,2\n1,,3\n", ("--drop-missing",), "no row without missing values"),
    "percentages": (GOOD.replace("0.", ""), (), "If these are percentages, divide them by 100."),
    "negative probability": (GOOD.replace("0.25", "-0.25"), (), "row 2 (line 3) has -0.25."),
    "3 classes": (
        GOOD.replace("0,0.5,4", "2,0.5,4"),
        (),
        "Column 'y' must have two classes. Got 3 instead",
    ),
    "text classes": (
        GOOD.replace("\n1,", "\nYes,").replace("\n0,", "\nNo,"),
        (),
        "--positive must say which class of y is the positive one, of ['No', 'Yes']. Got None "
        "instead. (Only -1/+1, 0/1 and booleans need none.) Add --positive Yes, for example.\n",
    ),
    "numeric classes": (
        GOOD.replace("\n1,", "\n2,").replace("\n0,", "\n1,"),
        (),
        "--positive must say which class of y is the positive one, of [1, 2]",
    ),
    "not a class": (GOOD, ("--positive", "yes"), "--positive must be a number"),
    "a name twice": (GOOD.replace("p,x", "p,p"), (), "has 2 columns named 'p'"),
    "too many cells": (GOOD + "1,0.5,6,7\n", (), "has 4 cells in row 5 (line 6)"),
    "too few cells": (GOOD + "1\n", (), "has 1 cell in row 5 (line 6)"),
    "open quote": (GOOD + '"1,0.5,6\n', (), "a quotation mark is not closed"),
    "counts without trials": ("y,p,x\n3,0.5,1\n4,0.5,2\n5,0.5,2\n", (), "--trials"),
    "more successes than trials": (
        "y,p,x,n\n3,0.5,1,2\n",
        ("--trials", "n"),
        "row 1 (line 2) has 3 successes in 2 trials",
    ),
    "broken counts": ("y,p,x,n\n1.5,0.5,1,2\n", ("--trials", "n"), "whole numbers, 0 or more"),
    "no trials": (
        "y,p,x,n\n0,0.5,1,0\n",
        ("--trials", "n"),
        "--outcome must hold at least one trial",
    ),
    "too large for a number": (
        f"y,p,x,n\n1,0.5,1,{'9' * 5000}\n",
        ("--trials", "n"),
        "Column 'n' must hold numbers between -1e+100 and 1e+100, but row 1 (line 2) has 9999",
    ),
    "too large to be squared": (
        GOOD.replace(",3\n", ",1e308\n"),
        (),
        "Column 'x' must hold numbers between -1e+100 and 1e+100, but row 3 (line 4) has 1e308.",
    ),
    "too many trials": (
        "y,p,x,n\n1,0.5,1,1e20\n",
        ("--trials", "n"),
        "must add up to at most 2**31",
    ),
    "nothing to look at": ("y,p\n1,0.5\n0,0.5\n", (), "exactregion calibrate"),
    "cut gzip": (gzip.compress(GOOD.encode())[:-9], (), "cannot be unpacked"),
}


def is_one_message(done):
    """Say whether the command ended as it should for bad input."""
    return (
        done.code == 2
        and done.out == ""
        and done.err.startswith("Error: ")
        and done.err.count("\n") <= 2
        and "Traceback" not in done.err
    )


@pytest.mark.parametrize(("content", "options", "message"), FILES.values(), ids=FILES)
def test_the_message_says_what_is_wrong(run, save, content, options, message):
    done = run("test", save(content), *ASK, *options)
    assert is_one_message(done), done
    assert message in done.err


def test_the_good_file_is_good(run, save):
    assert run("test", save(GOOD), *ASK).code == 0


def test_files_that_are_not_there(run, tmp_path, save):
    save(GOOD, "patients.csv")
    done = run("test", tmp_path / "patient.csv", *ASK)
    assert is_one_message(done)
    assert f"Did you mean '{tmp_path / 'patients.csv'}'?" in done.err
    done = run("test", tmp_path, *ASK)
    assert is_one_message(done)
    assert "is a folder" in done.err
    done = run("test", "/dev/zero", *ASK)
    assert is_one_message(done)
    assert "is a device" in done.err


def test_parquet_that_cannot_serve(run, save, tmp_path):
    done = run("test", save(GOOD, "data.parquet"), *ASK)
    assert is_one_message(done)
    assert "is not a Parquet file" in done.err
    nested = pd.DataFrame({"y": [0, 1], "p": [0.5, 0.5], "x": [[1], [2, 3]]})
    nested.to_parquet(tmp_path / "nested.parquet")
    done = run("test", tmp_path / "nested.parquet", *ASK, "--inputs", "x")
    assert is_one_message(done)
    assert "Column 'x' must hold numbers. Got list<" in done.err


@pytest.mark.parametrize("files", [("good", "bad"), ("bad", "good")])
def test_one_of_several_parquet_files_is_damaged(run, tmp_path, files):
    pd.DataFrame({"y": [0, 1] * 9, "p": 0.5}).to_parquet(tmp_path / "good.parquet")
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    paths = [str(tmp_path / f"{name}.parquet") for name in files]
    result = run("calibrate", *paths, *ASK)
    assert result.code == 2
    assert "bad.parquet" in result.err


@pytest.mark.parametrize("command", ["test", "calibrate"])
def test_errors_of_the_library_name_rows_of_the_file(run, save, command):
    """Also where some were left out before."""
    rows = ["y,p_a,p_b,p_c,x", "a,,0.5,0.2,1", "b,0.3,0.5,0.2,2", "c,0.3,0.9,0.2,3"]
    file = save("\n".join([*rows, "a,0.3,0.5,0.2,4\n"]), "classes.csv")
    asked = ("--outcome", "y", "--probability", "p_", "--resamples", "19", "--drop-missing")
    result = run(command, file, *asked)
    assert result.code == 2
    assert "Got 1.4 in row 3 (line 4) instead" in result.err


def test_classes_of_a_fit_name_rows_of_the_file(run, save):
    rows = ["y,x", "a,", *(f"{label},{x}" for x, label in enumerate("abcabc")), "yak,7\n"]
    asked = ("--outcome", "y", "--inputs", "x", "--model", "multinomial", "--levels", "a,b,c")
    result = run("fit", save("\n".join(rows)), *asked, "--drop-missing", "--resamples", "19")
    assert result.code == 2
    assert "Got 'yak' in row 8 (line 9) instead" in result.err


def test_the_outcome_of_a_formula_is_no_probability(run, save):
    result = run("test", save(GOOD), "--formula", "y ~ x", "--probability", "y")
    assert result.code == 2
    assert "no guarantee holds for what knows the outcome" in result.err


def test_counts_of_a_formula_name_rows_of_the_file(run, save):
    file = save("dead,alive,dose\n1,2,1\n1.5,3,2\n", "counts.csv")
    result = run("fit", file, "--formula", "dead + alive ~ dose", "--resamples", "19")
    assert result.code == 2
    assert "Got [1.5, 3.0] in row 2 (line 3) instead" in result.err


def test_parquet_with_a_flipped_bit(run, tmp_path):
    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"y": [0, 1] * 20, "p": [0.5] * 40, "x": np.arange(40.0), "s": ["a"] * 40})
    frame.to_parquet(path)
    content = path.read_bytes()
    for place in range(4, len(content) - 4, 29):
        damaged = bytearray(content)
        damaged[place] ^= 1 << (place % 8)
        path.write_bytes(damaged)
        done = run("test", path, *ASK)
        assert done.code == 0 or is_one_message(done), (place, done)


def test_a_missing_package_is_named_before_any_work(run, save, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = run("test", save(b"PAR1", "data.parquet"), *ASK)
    assert is_one_message(done)
    assert "pip install exactregion[parquet]" in done.err


def test_many_columns_are_not_all_listed(run, save):
    names = [f"c{number}" for number in range(300)]
    content = ",".join(names) + "\n" + ",".join("1" for _ in names) + "\n"
    done = run("test", save(content), *ASK)
    assert is_one_message(done)
    assert "and 288 more" in done.err
    assert len(done.err) < 300


def test_names_from_the_file_cannot_steer_the_terminal(run, save):
    done = run("test", save("y,p\x1b[31m\x07\n1,2\n"), *ASK)
    assert is_one_message(done)
    assert "\x1b" not in done.err
    assert "\x07" not in done.err


# --- files that can serve, though they are odd --------------------------------------------------


def odd_files():
    yes = GOOD.replace("\n1,", "\nYes,").replace("\n0,", "\nNo,")
    return {
        "bom": ("\ufeff" + GOOD, ASK),
        "quoted": ('"' + GOOD.strip().replace(",", '","').replace("\n", '"\n"') + '"\n', ASK),
        "windows": (GOOD.replace("\n", "\r\n"), ASK),
        "gzip": (gzip.compress(GOOD.encode()), ASK),
        "text classes": (yes, (*ASK, "--positive", "Yes")),
        "booleans": (GOOD.replace("\n1,", "\ntrue,").replace("\n0,", "\nFALSE,"), ASK),
        "minus and plus": (GOOD.replace("\n0,", "\n-1,"), ASK),
        "another column twice": ("z,z," + GOOD.strip().replace("\n", "\n0,0,"), ASK),
        "semicolons": (GOOD.replace(",", ";"), (*ASK, "--delimiter", ";")),
        "tab": (GOOD.replace(",", "\t"), (*ASK, "--delimiter", "tab")),
        "decimal comma": (
            GOOD.replace(",", ";").replace(".", ","),
            (*ASK, "--delimiter", ";", "--decimal", ","),
        ),
        "missing rows": (GOOD + "NA,0.5,2\n1,,2\n", (*ASK, "--drop-missing")),
        "unicode names": (
            GOOD.replace("y,p,x", "kör,p=1 [%],年龄"),
            ("--outcome", "kör", "--probability", "p=1 [%]", "--resamples", "19"),
        ),
    }


@pytest.mark.parametrize("name", odd_files())
def test_the_answer_does_not_depend_on_the_spelling(run, save, name):
    plain = run("test", save(GOOD, "plain.csv"), *ASK, "--inputs", "x", "--json")
    content, options = odd_files()[name]
    inputs = "年龄" if name == "unicode names" else "x"
    done = run("test", save(content), *options, "--inputs", inputs, "--json")
    assert done.code == 0, done.err
    assert '"pvalue"' in done.out
    pick = [line for line in plain.out.splitlines() if "pvalue" in line or '"z"' in line]
    assert pick == [line for line in done.out.splitlines() if "pvalue" in line or '"z"' in line]


def test_one_class_is_fine(run, save):
    done = run("test", save("y,p,x\n1,0.9,1\n1,0.8,2\n"), *ASK)
    assert done.code == 0
    assert "y = 1 in 2 of 2" in done.out


def test_columns_that_cannot_be_inputs_are_left_out_and_named(run, save):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"patient {row}" for row in range(40)],
            "y": rng.integers(0, 2, 40),
            "p": rng.random(40),
            "sex": rng.choice(["f", "m"], 40),
            "mixed": ["?" if row % 10 == 0 else row for row in range(40)],
            "age": rng.normal(size=40),
        }
    )
    done = run("test", save(frame.to_csv(index=False)), *ASK)
    assert done.code == 0, done.err
    assert "sex, age (all other columns, without id, mixed)" in " ".join(done.out.split())


def test_dropped_rows_are_counted(run, save):
    done = run("test", save(GOOD + "NA,0.5,2\n1,,2\n"), *ASK, "--drop-missing")
    assert done.code == 0
    assert "Left out 2 rows with missing values; 4 rows remain." in done.err
    assert "4 (2 with missing values left out)" in done.out
    quiet = run("test", save(GOOD + "NA,0.5,2\n"), *ASK, "--drop-missing", "--quiet")
    assert (quiet.code, quiet.err) == (0, "")


# --- the same by the real command ---------------------------------------------------------------

# found by the reader of files, by the command, and by the library
REAL = ("empty", "missing column", "3 classes")


@pytest.mark.parametrize("name", REAL)
def test_the_real_command_says_the_same(call, save, name):
    content, options, message = FILES[name]
    done = call("test", save(content), *ASK, *options)
    assert is_one_message(done), done
    assert message in done.err


@pytest.mark.parametrize("name", ["unicode names"])
def test_the_real_command_takes_odd_files(call, save, name):
    content, options = odd_files()[name]
    done = call("test", save(content), *options)
    assert (done.code, done.err) == (0, "")


def test_the_real_command_on_what_is_no_table(call, save, tmp_path):
    for path in (tmp_path, save(GOOD, "data.parquet")):
        done = call("test", path, *ASK)
        assert is_one_message(done), done


def test_standard_input(call):
    done = call("test", "-", *ASK, stdin=GOOD.encode())
    assert done.code == 0, done.err
    assert "Can these probabilities be true?" in done.out
    done = call("test", "-", *ASK, stdin=b"")
    assert is_one_message(done)
    assert "Standard input is empty." in done.err


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_no_permission(call, save):
    path = save(GOOD)
    path.chmod(0)
    done = call("test", path, *ASK)
    assert is_one_message(done)
    assert "cannot be read: permission denied" in done.err
