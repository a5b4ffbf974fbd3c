"""What a region is fitted to: the family for a formula, and the data as the family takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from exactregion.data.classes import read_classes
from exactregion.data.design import Design
from exactregion.data.digest import seed_of_sample
from exactregion.data.outcomes import read_outcomes
from exactregion.data.sample import Sample
from exactregion.data.sources import Rows, open_rows, rows_in_memory
from exactregion.errors import InvalidValueError
from exactregion.models import (
    ClassModel,
    Function,
    LinearModel,
    Model,
    Multinomial,
    Psychometric,
    as_model,
)
from exactregion.region.fitted import FittedRegion
from exactregion.region.stored import as_source, stored_sample
from exactregion.resampling import fresh_entropy, seeded

__all__ = ["family_for", "fitted_to", "fitted_to_rows", "fitted_to_sample"]


def fitted_to_rows(
    rows: Rows, data: Any, settings: Mapping[str, Any], *, levels: Any = None
) -> FittedRegion:
    """Read rows from wherever they are; many rows of two classes are read chunk by chunk."""
    names = Rows("X", "y", None)
    if levels is None and not isinstance(as_model(settings["model"]), ClassModel):
        source = as_source(open_rows(rows, data, names), names)
        if source is not None:
            return fitted_to_sample(stored_sample(source, settings["pos_label"]), settings)
    rows = rows_in_memory(rows, data, names)
    return fitted_to(rows.X, rows.y, settings, levels=levels)


def fitted_to(
    X: Any,
    y: Any,
    settings: Mapping[str, Any],
    *,
    levels: Any = None,
    design: Design | None = None,
) -> FittedRegion:
    """Read the data and draw what is random; `settings` are those of a `ConfidenceRegion`."""
    model, pos_label = as_model(settings["model"]), settings["pos_label"]
    if isinstance(model, ClassModel):
        sample = _sample_of_classes(X, y, model, levels, pos_label)
    elif levels is not None:
        raise InvalidValueError(
            f"must be left out for {type(model).__name__}, which has two classes. Got "
            f"{levels!r} instead: name the positive one by 'pos_label'.",
            parameter="levels",
        )
    else:
        if design is not None:  # so that messages name the outcomes as the formula does
            read_outcomes(y, pos_label, design.outcome)
        sample = Sample.from_data(X, y, pos_label=pos_label)
    return fitted_to_sample(sample, settings, design)


def fitted_to_sample(
    sample: Sample, settings: Mapping[str, Any], design: Design | None = None
) -> FittedRegion:
    """Draw what is random for data that were read before."""
    rng = seeded(settings["rng"], lambda: seed_of_sample(sample))
    return FittedRegion.fit({**settings, "rng": rng}, sample, fresh_entropy(rng), design)


def _sample_of_classes(X: Any, y: Any, model: ClassModel, levels: Any, pos_label: Any) -> Sample:
    model = model if levels is None else model.with_levels(levels)
    if pos_label is not None:
        raise InvalidValueError(
            f"must be left out for {type(model).__name__}, whose classes are all alike. "
            f"Got {pos_label!r} instead.",
            parameter="pos_label",
        )
    codes, classes = read_classes(y, model.levels, ordered=model.is_ordered)
    return Sample.of_classes(X, codes, classes)


def family_for(design: Design, model: Model | str) -> Model:
    """Return the family, with an intercept where the formula has one and without it elsewhere."""
    if not design.names:
        raise InvalidValueError(
            f"must have a term besides the intercept. Got {design.formula!r} instead.",
            parameter="formula",
        )
    family = as_model(model)
    if isinstance(family, Psychometric):
        return replace(family, core=family_for(design, family.core))
    if isinstance(family, LinearModel | Multinomial):
        if design.intercept and not family.intercept:
            raise InvalidValueError(
                "The 'model' and 'formula' parameters must agree on the intercept. Got a model "
                f"without one and {design.formula!r} instead: write - 1 in the formula."
            )
        return replace(family, intercept=design.intercept)
    if not design.intercept and not isinstance(family, Function):
        raise InvalidValueError(
            f"must keep its intercept for {type(family).__name__}, which has none to leave out. "
            f"Got {design.formula!r} instead.",
            parameter="formula",
        )
    return family
