"""From a fitted region to a header with arrays, and back.

The region is fitted again with what it was fitted with, and given the seed of its draws: the same
data, settings and draws give the same ranks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import IntArray
from exactregion.data.sample import Sample
from exactregion.errors import FileFormatError, InvalidValueError
from exactregion.region import ConfidenceRegion
from exactregion.resampling import Resampling, integer_seed
from exactregion.saving.archive import Arrays
from exactregion.saving.columns import decode_frame, encode_frame
from exactregion.saving.own import describe_own, is_own, known_by, recognise, take_own
from exactregion.saving.settings import decode, encode_called

if TYPE_CHECKING:
    from exactregion.data.design import Design

__all__ = ["describe", "rebuild"]

PLAIN = ("confidence_level", "n_resamples", "accepted_ranks", "pos_label")
"""Settings made of numbers and text."""

SAME = 1e-9
"""Inputs made again by a formula may differ by this share; those of the file are used."""


def describe(region: ConfidenceRegion) -> tuple[dict[str, Any], Arrays]:
    """Say in JSON and arrays what a region was fitted with."""
    arrays: Arrays = {}
    fitted_with = region.fitted_.settings
    settings = {
        name: encode_called(f"The {name!r} parameter", fitted_with[name], name, arrays)
        for name in PLAIN
    }
    settings["rng"] = integer_seed(fitted_with["rng"])
    for name in ("model", "statistic"):
        settings[name] = describe_own(fitted_with[name], name, arrays)
    header = {
        "settings": settings,
        "parameter_names": list(region.parameter_names_),
        "entropy": f"{region.fitted_.resampling.entropy:032x}",
        "data": _describe_data(region.fitted_.sample, arrays),
        "formula": _describe_design(region.design_, arrays),
    }
    if is_own(settings["model"]) or is_own(settings["statistic"]):
        arrays |= known_by(region)
    return header, arrays


def rebuild(
    header: Mapping[str, Any], arrays: Arrays, passed: Mapping[str, Any]
) -> ConfidenceRegion:
    """Make the region again.

    Parameters
    ----------
    header, arrays : mappings
        What `describe` gave.
    passed : mapping of "model" and "statistic"
        What the user passes for what a file cannot hold, else None.
    """
    nodes = header["settings"]
    own = take_own(nodes, passed)
    settings = {
        name: own[name] if name in own else decode(nodes[name], arrays)
        for name in ("model", "statistic", "rng", *PLAIN)
    }
    region = _fit(settings, header["data"], arrays)
    _restore_draws(region, header["entropy"])
    if header["formula"] is not None:
        _restore_design(region, header["formula"], arrays)
    recognise(region, header["parameter_names"], own, arrays)
    return region


# --- data ---------------------------------------------------------------------------------------


def _describe_data(sample: Sample, arrays: Arrays) -> dict[str, Any]:
    inputs = sample.inputs
    if len(set(inputs.names)) < len(inputs.names):
        raise InvalidValueError(
            "The columns of X must have different names, as text, to be saved. "
            f"Got {list(inputs.names)} instead."
        )
    arrays["successes"] = inputs.to_user_order(sample.successes)
    arrays["trials"] = inputs.to_user_order(inputs.trials)
    return {
        "inputs": encode_called("The rows of X", inputs.user_rows, "inputs", arrays),
        "names": list(inputs.names),
        "is_counts": sample.is_counts,
        "classes": encode_called("The classes of y", sample.classes, "classes", arrays),
    }


def _fit(settings: dict[str, Any], data: Mapping[str, Any], arrays: Arrays) -> ConfidenceRegion:
    X = _named(decode(data["inputs"], arrays), data["names"])
    successes, trials = (_whole_numbers(arrays, name, len(X)) for name in ("successes", "trials"))
    is_counts, classes = data["is_counts"], decode(data["classes"], arrays)
    _check_outcomes(successes, trials, is_counts, classes)
    # outcomes come back as successes and failures, whatever they were written as
    pos_label = settings.pop("pos_label")
    region = ConfidenceRegion(**settings).fit(X, np.column_stack([successes, trials - successes]))
    region.pos_label = pos_label
    state = region.fitted_
    region._fitted = replace(
        state,
        sample=replace(state.sample, is_counts=is_counts, classes=classes),
        settings={**state.settings, "pos_label": pos_label},
    )
    return region


def _check_outcomes(successes: IntArray, trials: IntArray, is_counts: Any, classes: Any) -> None:
    if not ((successes >= 0) & (successes <= trials)).all():
        raise FileFormatError("it is damaged (more successes than trials)")
    labels = isinstance(classes, tuple) and len(classes) == 2 and bool((trials == 1).all())
    if is_counts is not True and (is_counts is not False or not labels):
        raise FileFormatError(f"it is damaged (is_counts={is_counts!r} and classes={classes!r})")


def _named(values: Any, names: list[str]) -> Any:
    """Put numbers into a frame, where names belong to columns."""
    if not isinstance(values, np.ndarray):
        return values
    import pandas as pd

    if values.ndim == 1:
        return pd.Series(values, name=names[0])
    return pd.DataFrame(values, columns=names)


def _whole_numbers(arrays: Arrays, name: str, n: int) -> IntArray:
    array = arrays[name]
    if array.dtype.kind != "i" or array.shape != (n,):
        raise FileFormatError(
            f"it is damaged ({name} must be {n} integers, and has dtype {array.dtype}, shape "
            f"{array.shape})"
        )
    return array.astype(np.int64)


# --- formula ------------------------------------------------------------------------------------


def _describe_design(design: Design | None, arrays: Arrays) -> dict[str, Any] | None:
    if design is None:
        return None
    return {
        "formula": design.formula,
        "columns": encode_frame(design.data, "columns", arrays),
    }


def _restore_design(region: ConfidenceRegion, node: Mapping[str, Any], arrays: Arrays) -> None:
    """Read the formula on its columns again, so that it can be read on new ones."""
    from exactregion.data.design import Design

    inputs = region.fitted_.sample.inputs
    design = Design.from_formula(node["formula"], decode_frame(node["columns"], arrays))
    if design.names != inputs.names or not _alike(design.matrix.to_numpy(), inputs.user_rows):
        raise FileFormatError(
            f"the formula {design.formula!r} does not give the inputs that it gave when the region "
            "was saved, with another version of formulaic or of its columns"
        )
    region._fitted = replace(region.fitted_, design=design)


def _alike(found: Any, saved: Any) -> bool:
    return found.shape == saved.shape and np.allclose(
        found, saved, rtol=SAME, atol=SAME * np.abs(saved).max()
    )


# --- draws --------------------------------------------------------------------------------------


def _restore_draws(region: ConfidenceRegion, entropy: Any) -> None:
    if not (isinstance(entropy, str) and re.fullmatch("[0-9a-f]{32}", entropy)):
        raise FileFormatError("it is damaged (entropy must be 32 hexadecimal digits)")
    state = region.fitted_
    draws = Resampling(state.sample, state.resampling.n_resamples, int(entropy, 16))
    region._fitted = replace(state, resampling=draws)
