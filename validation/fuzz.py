"""Damaged files, odd formulas and random options: each gives an answer or a clear error.

``python -m validation.fuzz`` tries all kinds with fixed seeds and prints how often each was tried,
refused by a clear error and accepted; and all others, which are defects, with what gives them
again. The exit code is 1 if there are any. ``--each 20`` tries fewer, ``--kind csv`` one kind.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

import exactregion as er
from exactregion.cli import main
from exactregion.cli.app import app
from exactregion.data.design import Design
from exactregion.data.files import pack, unpack
from exactregion.errors import ExactRegionError

Rng = np.random.Generator

EACH = 500
"""Cases of each kind: minutes in all."""

CELLS = (
    *("", "NA", "nan", "inf", "-inf", "1e308", "-1e999", "5e-324", "9" * 5000, "0x1p3", "1_000"),
    *("-0", "+1", "1,5", "25%", "true", "yes", '"', "''", "a\nb", "\x00", "\ufeff", "é", "−1", " "),
    *("2147483648", "9223372036854775808", "0.1.2", "$\\usd$", "[red]", "\x1b[31m", "=1+1", "`"),
)
"""What a cell may hold, or a value of an option."""

TERMS = (
    *(
        "x",
        "s",
        "`z w`",
        "1",
        "x**2",
        "bs(x, df=4)",
        "C(s)",
        "C(x)",
        "np.log(n)",
        "Q('x')",
        "Q('Y')",
    ),
    *("poly(x, 2)", "scale(x)", "hashed(s, levels=5)", "hashed(s, levels=9999999)", "bs(x, df=30)"),
    *(
        "(x + s)",
        "(x + s + n)**3",
        "(x + s)**50",
        "np.where(x > 0, x, n)",
        "{x / n}",
        "s.str.upper()",
    ),
    *(
        "s == 'a'",
        "I(s * 99)",
        "x.astype('str')",
        "C(n, contr.sum)",
        "np.log(-n)",
        "np.exp(999 * n)",
    ),
    *("y", "I(y)", "lag(x)", "open('x')", "x.__class__", "center(x - x.mean())", "p", "nowhere"),
)
PIECES = (
    *("+", "-", "*", "/", ":", "**", "^", "~", "|", "%in%", ".", "(", ")", "[", "]", "{", "}", ","),
    *("I(", "C(", "Q(", "bs(", "poly(", "hashed(", "center(", "np.log(", "np.where(", "pow("),
    *("df=", "levels=", "degree=", ".str", ".astype(", ".lower()", "lambda:", "=", ">", "\\", "#"),
    *(
        "0",
        "-1",
        "2",
        "50",
        "99999999",
        "1e308",
        "'a'",
        "None",
        "y ~ x",
        "z w",
        "'",
        "`",
        "é",
        "\n",
    ),
)
"""What formulas are put together from."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "--outcome": ("y", "n"),
    "--inputs": ("x", "s", "x,s", "x,n"),
    "--trials": ("n",),
    "--positive": ("1", "0", "a"),
    "--formula": ("y ~ x", "y ~ s", "s ~ x"),
    "--probability": ("p", "y", "x"),
    "--by": ("s", "x"),
    "--model": ("logistic", "probit", "cloglog", "psychometric", "laplace", "recalibration"),
    "--statistic": ("score", "combined", "likelihood", "neighborhood", "omnibus", "spiegelhalter"),
    "--degree": ("1", "2", "3", "4", "x"),
    "--resamples": ("19", "1", "0", "-5", "99999999999"),
    "--seed": ("0", "7", "-1", "99999999999999999999999"),
    "--confidence": ("0.5", "50%", "95", "0", "1", "1e-300"),
    "--jobs": ("1", "2", "0", "-1", "-99"),
    "--fail-below": ("0.05", "5%", "0.5"),
    "--parameters": ("0.1,0.2", "intercept=0,x=1", "1e308,1e308", "nan,0"),
    "--guess": ("0.5", "free", "2"),
    "--lapse": ("0.1", "free", "-1"),
    "--locations": ("1,-1", "1", "0,0"),
    "--at": ("x=1", "s=a", "x=1,2", "x=1e308", "x=nan"),
    "--relative-to": ("s=a", "x=1", "s"),
    "--picture": ("curve", "region", "map"),
    "--ed": ("50", "x=50,90", "s=50", "x=50,s=a", "half"),
    "--delimiter": (",", ";", "tab", "ab"),
    "--decimal": (".", ",", "x"),
    "--plot": ("a.png", "a.svg", "a.gif", "/dev/null", "/nowhere/a.png"),
    "--report": ("a.html", "a.txt"),
    "--save": ("a.npz", "a.csv"),
    "--out": ("a.csv", "."),
    "--cluster": ("nowhere",),
    **dict.fromkeys(
        ("--json", "--joint", "--drop-missing", "--force", "--test-only", "--quiet"), ()
    ),
    **dict.fromkeys(("--nonsense", "-h", "--version", "--"), ()),
}
"""Options, and values that some of them accept."""


def rows(n: int = 12) -> pd.DataFrame:
    """Return a small table that all commands accept."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n).round(2)
    return pd.DataFrame(
        {
            "y": (rng.random(n) < 1 / (1 + np.exp(-x))).astype(int),
            "p": (1 / (1 + np.exp(-x))).round(3),
            "x": x,
            "s": rng.choice(["a", "b"], n),
            "n": rng.integers(1, 4, n),
            "z w": rng.integers(1, 9, n),
        }
    )


def damaged(content: bytes, rng: Rng) -> bytes:
    """Flip bits, or cut, repeat, remove or overwrite a part."""
    changed = bytearray(content)
    start, stop = sorted(int(place) for place in rng.integers(0, len(content), 2))
    match int(rng.integers(6)):
        case 0 | 1:
            for place in rng.integers(0, len(content), int(rng.integers(1, 9))):
                changed[place] ^= 1 << int(rng.integers(8))
        case 2:
            del changed[stop:]
        case 3:
            del changed[start : min(stop, start + 40)]
        case 4:
            changed[start:start] = changed[start : start + 60]
        case 5:
            changed[start : start + 8] = rng.bytes(8)
    return bytes(changed)


def value_of_any_kind(rng: Rng) -> Any:
    """Return a value that a header may have in the place of another."""
    values = (None, True, -1, 0, 2, 10**7, 10**30, 0.5, 1e308, "", "score", "x" * 300, [], {})
    nodes = ({"float": "nan"}, {"array": "inputs"}, {"tuple": [1, 2]}, {"list": [[]] * 9})
    types = [
        {"type": name, "settings": {setting: int(rng.integers(-1, 10)) ** 7}}
        for name, setting in (
            *(("Neighborhood", "k"), ("Neighborhood", "nodes"), ("Likelihood", "members")),
            *(("Gaussian", "bandwidth"), ("Psychometric", "guess"), ("Logistic", "intercept")),
        )
    ]
    choices = (*values, *nodes, *types)
    return choices[int(rng.integers(len(choices)))]


def replaced(node: Any, rng: Rng) -> Any:
    """Replace one value somewhere in a structure of dicts and lists."""
    keys: list[Any] = list(node) if isinstance(node, dict) else []
    keys = list(range(len(node))) if isinstance(node, list) else keys
    if not keys or rng.random() < 0.1:
        return value_of_any_kind(rng)
    key = keys[int(rng.integers(len(keys)))]
    changed = node.copy()
    if rng.random() < 0.1:
        del changed[key]
    else:
        changed[key] = replaced(node[key], rng)
    return changed


class Cases:
    """Cases of all kinds, made in a folder; each is tried by a function that may raise an error."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.frame = rows()
        self.csv = self.frame.to_csv(index=False)
        parquet = io.BytesIO()
        self.frame.to_parquet(parquet)
        self.parquet = parquet.getvalue()
        settings: dict[str, Any] = {"n_resamples": 19, "confidence_level": 0.5, "rng": 0}
        region = er.ConfidenceRegion.from_formula("y ~ x + s", self.frame, **settings)
        other = er.ConfidenceRegion("logistic", statistic="neighborhood", **settings)
        other.fit(self.frame[["x"]], self.frame["y"])
        self.saved = [
            one.save(folder / f"{index}.npz").read_bytes()
            for index, one in enumerate((region, other))
        ]

    def saved_file(self, rng: Rng) -> tuple[str, Callable[[], object]]:
        """Load a damaged file, or one whose header or arrays say something else."""
        content = self.saved[int(rng.integers(len(self.saved)))]
        if rng.random() < 0.4:
            content = damaged(content, rng)
        else:
            header, arrays = unpack(io.BytesIO(content), lambda header: None)
            if rng.random() < 0.8:
                header = replaced(header, rng)
            else:
                name = list(arrays)[int(rng.integers(len(arrays)))]
                arrays[name] = damaged_array(arrays[name], rng)
            content = pack(header, arrays)
        path = self.folder / "case.npz"
        path.write_bytes(content)

        def load() -> None:
            region = er.load(path)
            region.rank(np.zeros(len(region.parameter_names_)))

        return f"{len(content)} bytes", load

    def csv_file(self, rng: Rng) -> tuple[str, Callable[[], object]]:
        """Run a command on a CSV file with other cells or damaged bytes."""
        if rng.random() < 0.5:
            content = damaged(self.csv.encode(), rng)
        else:
            table = [line.split(",") for line in self.csv.splitlines()]
            for _ in range(int(rng.choice([1, 1, 1, 3]))):
                row, column = (int(rng.integers(size)) for size in (len(table), len(table[0])))
                table[row][column] = CELLS[int(rng.integers(len(CELLS)))]
            content = "\n".join(map(",".join, table)).encode()
        path = self.folder / "case.csv"
        path.write_bytes(content)
        return self._command(path, rng)

    def parquet_file(self, rng: Rng) -> tuple[str, Callable[[], object]]:
        """Run a command on a damaged Parquet file."""
        path = self.folder / "case.parquet"
        path.write_bytes(damaged(self.parquet, rng))
        return self._command(path, rng)

    def formula(self, rng: Rng) -> tuple[str, Callable[[], object]]:
        """Evaluate a formula that is put together at random."""
        terms = [str(rng.choice(TERMS)) for _ in range(int(rng.integers(1, 5)))]
        right = terms[0]
        for term in terms[1:]:
            right += str(rng.choice(["+", "*", ":", "-", "/"])) + term
        if rng.random() < 0.5:
            words = [*terms, *(str(rng.choice(PIECES)) for _ in range(int(rng.integers(1, 5))))]
            right = " ".join(rng.permutation(words))
        if rng.random() < 0.5:  # closed, so that more of it is evaluated
            right += ")" * max(0, right.count("(") - right.count(")"))
        if rng.random() < 0.05:
            right = "(" * 2000 + right + ")" * 2000
        formula = right if rng.random() < 0.1 else f"y ~ {right}"
        return formula[:200], lambda: Design.from_formula(formula, self.frame)

    def options(self, rng: Rng) -> tuple[str, Callable[[], object]]:
        """Run a command with random options."""
        path = self.folder / "good.csv"
        path.write_text(self.csv, encoding="utf-8")
        (self.folder / "good.npz").write_bytes(self.saved[0])
        quick = ("--resamples", "19", "--confidence", "0.5")
        commands = (
            ("fit", str(path), "--outcome", "y", "--inputs", "x", *quick),
            ("fit", str(path), *quick),
            ("test", str(path), "--outcome", "y", "--probability", "p", *quick[:2]),
            ("test", str(path), "--outcome", "y", "--inputs", "x", *quick[:2]),
            ("calibrate", str(path), "--outcome", "y", "--probability", "p", *quick),
            ("show", str(self.folder / "good.npz")),
            ("datasets", "oring"),
        )
        words = list(commands[int(rng.integers(len(commands)))])
        command: Any = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
        taken = [name for one in command.params for name in one.opts if name in OPTIONS]
        for _ in range(int(rng.choice([1, 1, 1, 2, 2, 3, 5]))):
            name = str(rng.choice(taken if rng.random() < 0.95 else list(OPTIONS)))
            values = (OPTIONS[name] or ("x",)) if rng.random() < 0.8 else CELLS
            words += [name, str(values[int(rng.integers(len(values)))])][: 1 + bool(OPTIONS[name])]
        return " ".join(words)[:300], lambda: run(words)

    def _command(self, path: Path, rng: Rng) -> tuple[str, Callable[[], object]]:
        member = ("--parameters", "0.1,0.2")
        commands = (
            ("fit", str(path), "--outcome", "y", "--inputs", "x", "--confidence", "0.5"),
            ("test", str(path), "--formula", "y ~ x", *member, "--drop-missing"),
            ("test", str(path), "--outcome", "y", "--inputs", "s", *member),
            ("test", str(path), "--outcome", "y", "--trials", "n", "--inputs", "x", *member),
            ("test", str(path), "--outcome", "y", "--probability", "p"),
            ("calibrate", str(path), "--outcome", "y", "--probability", "p", "--test-only"),
        )
        words = [*commands[int(rng.integers(len(commands)))], "--resamples", "19", "--quiet"]
        return " ".join(words), lambda: run(words)


def damaged_array(array: Any, rng: Rng) -> Any:
    """Change values, shape or type of an array."""
    flat = array.astype(np.float64)
    flat.flat[int(rng.integers(flat.size))] = rng.choice([np.nan, np.inf, 1e308, -1, 0, 1e15])
    changes = (
        flat,
        array[:-1],
        array[None],
        array.astype("f4"),
        array[..., None],
        array[:0],
        -array,
    )
    return changes[int(rng.integers(len(changes)))]


class DefectError(Exception):
    """A command ended as it never should."""


class RefusedError(ExactRegionError):
    """A command ended with a clear error."""


def run(words: list[str]) -> None:
    """Run a command in this process; raise an error unless it is done."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    message = err.getvalue()
    if code == 2 and "Error: " in message and "Traceback" not in message:
        raise RefusedError(message)
    if code not in (0, 1):
        raise DefectError(f"exit code {code}: {message[-500:]}")


def outcomes(kind: str, each: int, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield how each case of a kind ended: clear, accepted or other; and what it was."""
    cases = Cases(folder)
    for number in range(each):
        rng = np.random.default_rng([KINDS.index(kind), number])
        what, attempt = getattr(cases, kind)(rng)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                attempt()
        except ExactRegionError:
            yield "clear errors", what
        except Exception:
            yield "others", f"case {number} of {kind}: {what}\n{traceback.format_exc(limit=-4)}"
        else:
            yield "accepted", what


KINDS = ("saved_file", "csv_file", "parquet_file", "formula", "options")


def fuzz(kinds: tuple[str, ...] = KINDS, each: int = EACH) -> dict[str, Counter[str]]:
    """Try cases of all kinds, print those that are defects, and count how they ended."""
    counts: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        for kind in kinds:
            counts[kind] = Counter()
            for ended, what in outcomes(kind, each, Path(name)):
                counts[kind][ended] += 1
                if ended == "others":
                    sys.stderr.write(f"{what}\n")
    return counts


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--each", type=int, default=EACH, help="cases of each kind")
    parser.add_argument("--kind", choices=KINDS, action="append", help="all by default")
    chosen = parser.parse_args()
    counts = fuzz(tuple(chosen.kind or KINDS), chosen.each)
    columns = ("clear errors", "accepted", "others")
    table = pd.DataFrame(counts, index=list(columns)).T.fillna(0).astype(int)
    table.insert(0, "tried", table.sum(axis=1))
    print(table.to_string())
    return int(table["others"].any())


if __name__ == "__main__":
    sys.exit(_main())
