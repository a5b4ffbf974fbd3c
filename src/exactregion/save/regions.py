"""Save fitted regions to files, and load them again.

A file holds the data, the settings and the seed of the draws, which together give the same ranks
again. Functions are not saved: the user passes them again. `exactregion.data.files` has the format
of the archive.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion._version import __version__
from exactregion.data.design import Design
from exactregion.data.files import Arrays, pack, regular_file, unpack, write_whole
from exactregion.data.sample import Sample
from exactregion.engine import DEFAULT_BATCH
from exactregion.errors import (
    ExactRegionError,
    FileAccessError,
    FileFormatError,
    InvalidTypeError,
    InvalidValueError,
)
from exactregion.region import ConfidenceRegion
from exactregion.region.fitted import FittedRegion
from exactregion.region.window import likely_parameters
from exactregion.resampling import fresh_entropy
from exactregion.save.values import (
    UnsaveableError,
    damaged,
    decode,
    decode_frame,
    encode,
    encode_frame,
    encode_named,
)

__all__ = ["load", "save"]

FORMAT = 1
"""Number of the format that is written, and the highest that is read."""

KIND = "exactregion.ConfidenceRegion"
"""What a header says that the file holds."""

PLAIN_SETTINGS = ("confidence_level", "n_resamples", "accepted_ranks", "pos_label")
"""Settings that are numbers or text. Those that change no result (batch, n_jobs, progress) are not
saved."""

CHECK_THETA, CHECK_P, CHECK_Z = "known.theta", "known.probabilities", "known.Z"
"""Names of the arrays by which a model or statistic that is passed again is compared."""


def save(region: ConfidenceRegion, path: str | os.PathLike[str]) -> Path:
    """Write a fitted region to a file; see `ConfidenceRegion.save`."""
    target = _as_path(path)
    content = pack(*_describe(region.fitted_))
    with _access_to(target, "that can be written"):
        return write_whole(target, lambda file: file.write(content))


def load(
    path: str | os.PathLike[str], *, model: Any = None, statistic: Any = None
) -> ConfidenceRegion:
    """Load a region that ``region.save(path)`` wrote.

    It is fitted, and gives the same rank for every θ as the one that was saved, to the last bit:
    the data, the settings and the seed of the draws are in the file. An integer `rng` comes back
    too; with any other the region draws afresh if it is fitted again. `batch`, `n_jobs` and
    `progress` are as for a new region. A file holds no pickle, and loading it runs no code of its
    own.

    Parameters
    ----------
    path : str or path
        The file.
    model, statistic : Model and Statistic or callable, optional
        Those of the saved region, if they contain functions of your own, which a file cannot hold.
        An error says so where one is needed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = er.load(region.save(Path(folder) / "region.npz"))
    >>> loaded
    ConfidenceRegion('logistic', statistic='combined', confidence_level=0.95)
    >>> loaded.rank([15.0, -0.2]) == region.rank([15.0, -0.2])
    True
    """
    source = _as_path(path)
    with _access_to(source, "that region.save wrote"):
        file = regular_file(source).open("rb")
    try:
        with file:
            header, arrays = unpack(file, _check_header)
        fitted = _rebuild(header, arrays, {"model": model, "statistic": statistic})
    except FileFormatError as error:
        raise FileFormatError(f"The file {str(source)!r} cannot be loaded: {error}.") from error
    except ExactRegionError:
        raise
    except Exception as error:  # zipfile, json, NumPy and pandas raise many kinds on damaged bytes
        raise FileFormatError(
            f"The file {str(source)!r} cannot be loaded: it is damaged "
            f"({type(error).__name__}: {error})."
        ) from error
    return ConfidenceRegion.from_fitted(fitted)


def _as_path(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidTypeError(
            f"must be a path. Got {type(path).__name__} instead.", parameter="path"
        )
    return Path(path)


@contextmanager
def _access_to(path: Path, requirement: str) -> Iterator[None]:
    """Turn errors of the operating system into those of the library."""
    try:
        yield
    except FileAccessError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileAccessError(
            f"The 'path' parameter must be a file {requirement}. "
            f"Got {str(path)!r} instead: {reason}."
        ) from error


def _describe(fitted: FittedRegion) -> tuple[dict[str, Any], Arrays]:
    """Return header and arrays of what a region was fitted with."""
    arrays: Arrays = {}
    settings = {
        name: encode_named(f"The {name!r} parameter", fitted.settings[name], name, arrays)
        for name in PLAIN_SETTINGS
    }
    settings["rng"] = fitted.seed
    functions = False
    for name in ("model", "statistic"):
        try:
            inner: Arrays = {}
            settings[name] = encode(fitted.settings[name], name, inner)
            arrays |= inner
        except UnsaveableError:
            settings[name] = {"own": _description(fitted.settings[name])}
            functions = True
    header: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "version": __version__,
        "settings": settings,
        "parameter_names": list(fitted.model.parameter_names),
        "entropy": f"{fitted.resampling.entropy:032x}",
        "data": _describe_sample(fitted.sample, arrays),
        "formula": None,
    }
    if fitted.design is not None:
        columns = encode_frame(fitted.design.data, arrays)
        header["formula"] = {"formula": fitted.design.formula, "columns": columns}
    return header, arrays | (_check_values(fitted) if functions else {})


def _check_header(header: Any) -> None:
    """Raise an error unless this is the header of a region, of a format that is known here."""
    if not isinstance(header, dict) or header.get("kind") != KIND:
        raise FileFormatError(
            "it is not a region that exactregion saved (its header says otherwise)"
        )
    number = header.get("format")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise damaged(f"format {number!r}")
    if number > FORMAT:
        raise FileFormatError(
            f"it was saved by exactregion {header.get('version')}, format {number}; this is "
            f"exactregion {__version__}, which reads up to format {FORMAT}: upgrade with "
            "pip install --upgrade exactregion"
        )


def _rebuild(header: Mapping[str, Any], arrays: Arrays, passed: Mapping[str, Any]) -> FittedRegion:
    """Fit again from header and arrays, with the model and statistic that the user passes."""
    nodes = header["settings"]
    used = _passed_again(nodes, passed)
    settings = {
        name: used[name] if name in used else decode(nodes[name], arrays)
        for name in ("model", "statistic", "rng", *PLAIN_SETTINGS)
    }
    settings |= {"batch": DEFAULT_BATCH, "n_jobs": None, "progress": False}
    fresh_entropy(settings["rng"])  # raises for a seed with which fit would fail
    entropy = header["entropy"]
    if not (isinstance(entropy, str) and re.fullmatch("[0-9a-f]{32}", entropy)):
        raise damaged("entropy must be 32 hexadecimal digits")
    sample = _read_sample(header["data"], arrays)
    node = header["formula"]
    design = None if node is None else _read_design(node, arrays, sample)
    fitted = FittedRegion.fit(settings, sample, int(entropy, 16), design)
    difference = _difference(fitted, header, arrays, used)
    if difference and used:
        names = " and ".join(map(repr, used))
        raise InvalidValueError(
            f"The {names} passed must be what the region was fitted with. Got {difference} instead."
        )
    if difference:
        raise damaged(f"the region has {difference}")
    return fitted


def _describe_sample(sample: Sample, arrays: Arrays) -> dict[str, Any]:
    inputs, levels = sample.inputs.original, sample.inputs.levels
    if len(set(inputs.names)) < len(inputs.names):
        raise InvalidValueError(
            "The columns of X must have different names, as text, to be saved. "
            f"Got {list(inputs.names)} instead."
        )
    if levels > 1:  # the number of the class of each row, and the largest that it could be
        arrays["successes"] = sample.codes
        arrays["trials"] = np.full(len(inputs), levels)
    else:
        arrays["successes"], arrays["trials"] = sample.user_outcomes
    return {
        "inputs": encode_named("The rows of X", inputs.user_rows, "inputs", arrays),
        "names": list(inputs.names),
        "is_counts": sample.is_counts,
        "classes": encode_named("The classes of y", sample.classes, "classes", arrays),
    }


def _read_sample(node: Mapping[str, Any], arrays: Arrays) -> Sample:
    X = decode(node["inputs"], arrays)
    if isinstance(X, np.ndarray):
        import pandas as pd

        names = node["names"]
        X = pd.Series(X, name=names[0]) if X.ndim == 1 else pd.DataFrame(X, columns=names)
    successes, trials = arrays["successes"], arrays["trials"]
    for name, array in (("successes", successes), ("trials", trials)):
        if array.dtype.kind != "i" or array.shape != (len(X),):
            got = f"dtype {array.dtype}, shape {array.shape}"
            raise damaged(f"{name} must be {len(X)} integers, and has {got}")
    if not ((successes >= 0) & (successes <= trials)).all():
        raise damaged("more successes than trials")
    is_counts, classes = node["is_counts"], decode(node["classes"], arrays)
    if isinstance(classes, tuple) and len(classes) > 2:
        if is_counts is not False or not (trials == len(classes) - 1).all():
            raise damaged(f"is_counts={is_counts!r} and classes={classes!r}")
        return Sample.of_classes(X, successes, classes)
    labels = isinstance(classes, tuple) and len(classes) == 2 and bool((trials == 1).all())
    if is_counts is not True and (is_counts is not False or not labels):
        raise damaged(f"is_counts={is_counts!r} and classes={classes!r}")
    sample = Sample.from_data(X, np.column_stack([successes, trials - successes]))
    return replace(sample, is_counts=is_counts, classes=classes)


def _read_design(node: Mapping[str, Any], arrays: Arrays, sample: Sample) -> Design:
    """Evaluate the formula on its columns again, so that it can be evaluated on new ones."""
    design = Design.from_formula(node["formula"], decode_frame(node["columns"], arrays))
    found, saved = design.matrix.to_numpy(), np.asarray(sample.inputs.original.user_rows)
    # the inputs of the file are used; another version of formulaic may differ in the last bits
    same = found.shape == saved.shape and np.allclose(
        found, saved, rtol=1e-9, atol=1e-9 * np.abs(saved).max()
    )
    if design.names != sample.inputs.names or not same:
        raise FileFormatError(
            f"the formula {design.formula!r} does not give the inputs that it gave when the region "
            "was saved, with another version of formulaic or of its columns"
        )
    return design


def _description(value: object) -> str:
    """Return the repr, shortened, without addresses, which differ between processes."""
    text = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))
    return text if len(text) <= 200 else text[:199] + "…"


def _check_values(fitted: FittedRegion) -> Arrays:
    """Return P and Z at one θ, by which another model or statistic is noticed when passed."""
    try:
        with np.errstate(all="ignore"):
            theta = likely_parameters(fitted.model, fitted.sample)
            Z = fitted.statistics(theta[None])[0]
            return {CHECK_THETA: theta, CHECK_P: _probabilities(fitted, theta), CHECK_Z: Z}
    except Exception:  # a user's function may raise anything, and the file is complete without
        return {}


def _passed_again(nodes: Mapping[str, Any], passed: Mapping[str, Any]) -> dict[str, Any]:
    """Check that the user passes what the file lacks and nothing else, and return it."""
    lacking = {
        name: nodes[name]["own"]
        for name in passed
        if isinstance(nodes[name], dict) and "own" in nodes[name]
    }
    for name, value in passed.items():
        if value is not None and name not in lacking:
            raise InvalidValueError(
                f"must be left out, since the file holds the {name} itself. Got {value!r} instead.",
                parameter=name,
            )
    missing = [name for name in lacking if passed[name] is None]
    if missing:
        descriptions = " and ".join(f"{name} {lacking[name]}" for name in missing)
        arguments = ", ".join(f"{name}=..." for name in missing)
        raise InvalidValueError(
            f"The region was fitted with the {descriptions}, which a file cannot hold: pass the "
            f"same to exactregion.load(path, {arguments})."
        )
    return {name: passed[name] for name in lacking}


def _difference(
    fitted: FittedRegion, header: Mapping[str, Any], arrays: Arrays, used: Mapping[str, Any]
) -> str | None:
    """Describe how a region differs from the one that was saved, if it does."""
    names, saved_names = list(fitted.model.parameter_names), header["parameter_names"]
    if names != saved_names:
        return f"the parameters {names}, which were {saved_names},"
    theta, P = arrays.get(CHECK_THETA), arrays.get(CHECK_P)  # version 0.1.0 wrote no P
    if theta is None:
        return None
    where = f"at theta = {theta.tolist()}"
    if "model" in used and P is not None and not _alike(_probabilities(fitted, theta), P):
        return f"other probabilities {where}"
    # not for a statistic of the library, whose Z may change from version to version
    if "statistic" in used and not _alike(fitted.statistics(theta[None])[0], arrays[CHECK_Z]):
        return f"other values of the statistic {where}"
    return None


def _probabilities(fitted: FittedRegion, theta: FloatArray) -> FloatArray:
    """Return P(Y=+1) in the user's rows at one θ."""
    return np.asarray(fitted.model.evaluate(theta[None], fitted.sample.inputs.user_rows)[0])


def _alike(found: FloatArray, saved: FloatArray) -> bool:
    """Compare up to 1e-6 of the largest: machines differ in the last bits, by far less."""
    finite = np.isfinite(saved)
    tolerance = 1e-6 * np.abs(saved[finite]).max(initial=0.0)
    return np.array_equal(found[~finite], saved[~finite], equal_nan=True) and bool(
        (np.abs(found[finite] - saved[finite]) <= tolerance).all()
    )
