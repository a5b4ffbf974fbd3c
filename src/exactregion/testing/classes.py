"""Probabilities of several classes as users give them: told apart from labels, and matched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.classes import (
    MatchedClasses,
    are_classes,
    column_labels,
    has_several_labels,
    labels_of,
    read_class_probabilities,
    read_matched,
)
from exactregion.data.sources import Rows
from exactregion.errors import InvalidValueError
from exactregion.models.fixed import needs_evaluation
from exactregion.statistics.classes import views_by_probability
from exactregion.testing.class_result import TOP_LABEL, ClassTestResult
from exactregion.testing.groups import holm, of_model

if TYPE_CHECKING:
    import pandas as pd


def candidate_of_two(
    candidate: Any, y: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object, bool]:
    """Replace a candidate's array of two columns by that of the positive class.

    Returns the positive class with it, and whether the candidate has more than two classes instead.
    A function has, where the outcomes have.
    """
    if not needs_evaluation(candidate):
        if not are_classes(candidate, y, data, classes):
            return candidate, pos_label, False
        settings: dict[str, Any] = {"data": data, "classes": classes, "pos_label": pos_label}
        two = positive_column(y, candidate, names, **settings)
        return (candidate, pos_label, True) if two is None else (*two, False)
    known: Any = getattr(candidate, "classes_", None) if classes is None else classes
    several = data is None and has_several_labels(y) if known is None else len(known) > 2
    return candidate, pos_label, several


def without_two(
    y: Any, y_prob: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object, bool]:
    """Replace probabilities of two classes by those of the positive one, for one model or several.

    Returns the positive class with them, and whether there are more than two classes instead.
    """
    models = y_prob if isinstance(y_prob, Mapping) else {"": y_prob}
    settings: dict[str, Any] = {"data": data, "classes": classes, "pos_label": pos_label}
    if not models or not all(are_classes(P, y, data, classes) for P in models.values()):
        return y_prob, pos_label, False
    found = {}
    for name, P in models.items():
        with of_model(name):
            two = positive_column(y, P, names, **settings)
        if two is None:
            return y_prob, pos_label, True
        found[name], positive = two
    return (found if isinstance(y_prob, Mapping) else found[""]), positive, False


def views_of_classes(
    y: Any, P: Any, names: Rows, classes: Any
) -> dict[str, tuple[IntArray, FloatArray]]:
    """Return the binary outcome of each class, and of the top label, with its probability."""
    if isinstance(P, Mapping):
        raise InvalidValueError(
            f"must be of one model with more than two classes. Got {len(P)} models instead: take "
            "one after the other.",
            parameter=names.p,
        )
    matched, codes, values = read_matched(y, P, classes, (names.y, names.p))
    every = views_by_probability(len(matched))
    named = [*map(str, matched.labels), TOP_LABEL]
    return {
        name: ((codes == view.successes(values)).astype(np.int64), view.probability(values))
        for name, view in zip(named, every, strict=True)
    }


def positive_column(
    y: Any, P: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object] | None:
    """Return the probabilities of the positive class, and its label; None if there are not two.

    Two classes are labels: they have all the statistics of these, and the same ranks.
    """
    width = len(P) if data is not None and not isinstance(P, str) else (*np.shape(P), 1)[1]
    if width != 2:
        if pos_label is not None:
            raise InvalidValueError(
                f"goes with two classes. Got {pos_label!r} with {width} columns of probabilities "
                "instead: leave it out.",
                parameter="pos_label",
            )
        return None
    lazy = data is not None or any(hasattr(values, "__dask_graph__") for values in (y, P))
    found = list(classes or ()) if lazy else labels_of(y, names.y)
    if lazy and classes is None:
        raise InvalidValueError(
            "must name the classes of the two columns of probabilities, where outcomes are not in "
            "memory. Got None instead.",
            parameter="classes",
        )
    if not lazy:
        read_class_probabilities(P, names.p)
    matched = MatchedClasses.of(found, 2, column_labels(P), classes, (names.y, names.p))
    positive = matched.labels[1] if pos_label is None else pos_label
    if positive not in matched.labels:
        raise InvalidValueError(
            f"must be one of the classes, {list(matched.labels)}. Got {pos_label!r} instead.",
            parameter="pos_label",
        )
    at = matched.columns[matched.labels.index(positive)]
    if data is not None:
        return P[at], positive
    if hasattr(P, "columns"):
        return P[P.columns[at]], positive
    return (P if hasattr(P, "shape") else np.asarray(P))[:, at], positive


def table_of_classes(results: Mapping[str, ClassTestResult], name: str) -> pd.DataFrame:
    """Put results of several models into a table, with p-values adjusted for their number."""
    import pandas as pd

    rows = [(r.n, r.pvalue, r.rank, r.statistic, r.clearest) for r in results.values()]
    columns = ["n", "pvalue", "rank", "statistic", "clearest"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(list(results), name=name))
    table.insert(2, "pvalue_holm", holm(table["pvalue"]))
    return table
