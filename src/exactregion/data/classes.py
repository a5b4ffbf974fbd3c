"""Outcomes of several classes: checked probabilities (n, C), and the class of each row by number.

Columns are matched to classes by their names where a frame gives them, by `classes` where the user
does, and by the sorted labels otherwise. Classes are then put in order, so that no result depends
on the order of columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.outcomes import outcome_values
from exactregion.data.reading import as_floats, from_native, is_number, read_inputs, row_error
from exactregion.errors import InvalidTypeError, InvalidValueError

TOLERANCE = 1e-3
"""Rows may add up to 1 within this much per two classes, as probabilities with three decimals do,
and are divided by their sums. Where rows are further off, something else may be wrong."""

NEGLIGIBLE = 2.0**-53
"""Smaller probabilities are taken as 0: uniforms are multiples of it, and see no difference."""

SHOWN = 6
"""Classes and labels that a message lists."""


def are_classes(y_prob: Any, y: Any, data: Any, classes: Any) -> bool:
    """Say whether predictions have one column per class, as those of `predict_proba`.

    An array with two columns or more has; so has a frame whose rows add up to 1, or that goes with
    outcomes of more than two classes. Another frame has one column per model, and so have several
    columns of `data`: there `classes` says that they are classes.

    Examples
    --------
    >>> are_classes([[0.2, 0.3, 0.5]], ["a"], None, None), are_classes([0.2], [1], None, None)
    (True, False)
    """
    if classes is not None or isinstance(y_prob, Mapping) or data is not None:
        return classes is not None and not isinstance(y_prob, Mapping)
    if hasattr(y_prob, "__dask_graph__"):
        return not hasattr(y_prob, "columns") and _width(y_prob) > 1
    frame = from_native(y_prob, "y_prob")
    if not isinstance(frame, nw.DataFrame):
        return _width(y_prob) > 1
    columns = list(frame.iter_columns())
    if len(columns) < 2 or not len(frame) or not all(map(is_number, columns)):
        return False
    sums = np.sum([as_floats(column) for column in columns], axis=0)
    return bool((np.abs(sums - 1) <= tolerance_of(len(columns))).all()) or has_several_labels(y)


def has_several_labels(y: Any) -> bool:
    """Say whether outcomes have more than two classes; not if they cannot be read."""
    try:
        return len(labels_of(y, "y")) > 2
    except (InvalidTypeError, InvalidValueError):
        return False  # reading them says what is wrong


def _width(values: Any) -> int:
    """Count the columns of an array or a list of rows; 1 where there is no second dimension."""
    try:
        shape = np.shape(values)
    except ValueError:  # rows of different lengths
        return 1
    return int(shape[1]) if len(shape) == 2 else 1


def column_labels(values: Any) -> tuple[str, ...] | None:
    """Return the names of columns that have some; None for arrays, and for columns 0, 1, 2, …."""
    names = getattr(values, "columns", None)
    if names is None or isinstance(values, np.ndarray):
        return None
    listed = [str(name) for name in names]
    return None if listed == [str(k) for k in range(len(listed))] else tuple(listed)


def read_class_probabilities(values: Any, name: str, *, first_row: int | None = None) -> FloatArray:
    """Turn predicted probabilities into float64 values (n, C) whose rows add up to 1.

    Examples
    --------
    >>> read_class_probabilities([[0.25, 0.25, 0.5], [0.2, 0.3, 0.4999]], "P")[1].round(3)
    array([0.2, 0.3, 0.5])
    """
    if hasattr(values, "detach"):  # a tensor of PyTorch, on any device, with its gradient
        values = values.detach().cpu().numpy()
    table, columns = read_inputs(values, name, first_row=first_row)
    if isinstance(table, tuple) or table.ndim != 2 or table.shape[1] < 2:
        got = (
            f"a sequence of {type(table[0]).__name__}" if isinstance(table, tuple) else table.shape
        )
        raise InvalidValueError(
            f"must have one column per class, shape (n, C) with C ≥ 2. Got {got} instead.",
            parameter=name,
        )
    negative = np.argwhere(table < 0)
    if len(negative):
        row, column = negative[0]
        got = f"must hold probabilities, 0 or more. Got {table[row, column]}"
        raise row_error(name, got, negative[:, 0], first_row, column=columns[column])
    sums, tolerance = table.sum(axis=1), tolerance_of(table.shape[1])
    off = np.flatnonzero(~(np.abs(sums - 1) <= tolerance))
    if len(off):
        percent = bool((np.abs(sums / 100 - 1) <= tolerance).all())
        hint = (
            "these are percentages, divide them by 100."
            if percent
            else "make sure that every class has its column; if the probabilities were rounded, "
            "divide each row by its sum."
        )
        got = f"must have rows that add up to 1, within {tolerance:.3g}. Got {sums[off[0]]:.6g}"
        raise row_error(name, got, off, first_row, then=f": {hint}")
    table = np.where(table < NEGLIGIBLE, 0.0, table)
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def tolerance_of(n_classes: int) -> float:
    """Return how far from 1 the probabilities of a row may add up, if they were rounded."""
    return max(1.0, n_classes / 2) * TOLERANCE * (1 + 1e-9)


def labels_of(y: Any, name: str, *, first_row: int | None = None) -> list[Any]:
    """List the different labels of outcomes, which must not be counts."""
    values = _one_column(outcome_values(y, name, first_row=first_row), name)
    return np.unique(values).tolist()  # type: ignore[no-any-return]


def read_classes(
    y: Any, levels: Sequence[Any] | None = None, *, ordered: bool = False, name: str = "y"
) -> tuple[IntArray, tuple[Any, ...]]:
    """Return the number of the class of each row (n,), and the classes in order.

    These are `levels`, or the categories that y declares, or else its labels, sorted. Classes that
    are `ordered` need levels, ordered categories or numbers: the alphabet says nothing about them.

    Examples
    --------
    >>> codes, classes = read_classes(["b", "a", "c", "b"])
    >>> codes.tolist(), classes
    ([1, 0, 2, 1], ('a', 'b', 'c'))
    """
    values = _one_column(outcome_values(y, name), name)
    found = np.unique(values).tolist()
    declared = getattr(getattr(y, "dtype", None), "categories", None)
    fractions = values.dtype.kind == "f" and (values != np.floor(values)).any()
    if levels is None and fractions and 2 * len(found) > len(values):
        raise InvalidValueError(
            f"must hold classes: text, or whole numbers. Got {_listed(found)} instead: cut "
            "measurements into classes first.",
            parameter=name,
        )
    if levels is not None:
        labels = tuple(levels)
    elif declared is not None and (not ordered or getattr(y.dtype, "ordered", True)):
        labels = tuple(np.asarray(declared).tolist())
    elif ordered and values.dtype.kind not in "biuf":
        raise InvalidValueError(
            "must say the order of the classes, from the lowest to the highest, where "
            f"{name} has text. Got none for {_listed(found)} instead: give them to the model, "
            "ProportionalOdds(levels=[...]), or make y an ordered categorical.",
            parameter="levels",
        )
    else:
        labels = tuple(found)
    if len(labels) < 2:
        raise InvalidValueError(
            f"must have two classes or more. Got {_listed(found)} alone instead: name all classes "
            "that can occur by 'levels'.",
            parameter=name,
        )
    return _numbered(values, labels, f"the classes {_listed(labels)}", name), labels


def _numbered(
    values: npt.NDArray[Any],
    labels: Sequence[Any],
    allowed: str,
    name: str,
    first_row: int | None = None,
) -> IntArray:
    """Return the number of each label (n,); an error for one that is not allowed."""
    different, place = np.unique(values, return_inverse=True)
    number = {label: code for code, label in enumerate(labels)}
    of_different = np.array([number.get(label, -1) for label in different.tolist()], dtype=np.int64)
    codes = of_different[place.ravel()]
    unknown = np.flatnonzero(codes < 0)
    if len(unknown):
        got = f"must hold {allowed}. Got {values[unknown[0]].item()!r}"
        raise row_error(name, got, unknown, first_row)
    return codes


def _one_column(values: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    if values.ndim != 1:
        raise InvalidValueError(
            f"must have shape (n,), one label per row, for classes. Got {values.shape} instead.",
            parameter=name,
        )
    return values


@dataclass(frozen=True)
class MatchedClasses:
    """The classes in order, and the column of probabilities that each has.

    Examples
    --------
    >>> MatchedClasses.of(["cat", "dog"], 3, ("p_dog", "p_cat", "p_bird"))
    MatchedClasses(labels=('bird', 'cat', 'dog'), columns=(2, 1, 0))
    """

    labels: tuple[Any, ...]
    columns: tuple[int, ...]

    @classmethod
    def of(
        cls,
        found: Sequence[Any],
        width: int,
        named: Sequence[str] | None = None,
        classes: Any = None,
        names: tuple[str, str] = ("y_true", "y_prob"),
    ) -> MatchedClasses:
        """Match labels that were found in the outcomes to a number of columns.

        `named` are the names of the columns, and `classes` the user's labels, in their order.
        """
        if classes is not None:
            labels = _given(classes, width, names[1])
        elif named is not None:
            labels = _by_name(found, named, names)
        else:
            labels = _by_order(found, width, names)
        order = sorted(range(width), key=lambda at: _sorting_key(labels[at]))
        return cls(tuple(labels[at] for at in order), tuple(order))

    def __len__(self) -> int:
        """Return the number of classes, C."""
        return len(self.labels)

    def ordered(self, P: FloatArray) -> FloatArray:
        """Return probabilities (n, C) with their columns in the order of the classes."""
        return np.ascontiguousarray(P[:, list(self.columns)])

    def codes(self, y: Any, name: str, *, first_row: int | None = None) -> IntArray:
        """Return the number of the class of each row: shape (n,)."""
        values = _one_column(outcome_values(y, name, first_row=first_row), name)
        allowed = f"classes that have a column of probabilities, {_listed(self.labels)}"
        return _numbered(values, self.labels, allowed, name, first_row)


def read_matched(
    y: Any, P: Any, classes: Any, names: tuple[str, str]
) -> tuple[MatchedClasses, IntArray, FloatArray]:
    """Read outcomes and probabilities in memory: classes, their numbers (n,) and ordered P (n, C).

    `names` are what the user calls outcomes and probabilities.
    """
    values = read_class_probabilities(P, names[1])
    found = labels_of(y, names[0])
    matched = MatchedClasses.of(found, values.shape[1], column_labels(P), classes, names)
    return matched, matched.codes(y, names[0]), matched.ordered(values)


def _given(classes: Any, width: int, name: str) -> list[Any]:
    if isinstance(classes, str) or not hasattr(classes, "__len__"):
        raise InvalidTypeError(
            f"must be a list with the class of each column. Got {classes!r} instead.",
            parameter="classes",
        )
    labels = np.asarray(classes).tolist() if isinstance(classes, np.ndarray) else list(classes)
    if len(labels) != width or len(set(labels)) != width:
        raise InvalidValueError(
            f"must name the class of each of the {width} columns of {name!r}, each once. Got "
            f"{_listed(labels)} instead.",
            parameter="classes",
        )
    return labels


def _by_name(found: Sequence[Any], named: Sequence[str], names: tuple[str, str]) -> list[Any]:
    """Find the label that each column is named after, with the same prefix in all of them."""
    texts = {_text(label): label for label in found}
    prefixes = {name[: -len(text)] for name in named for text in texts if name.endswith(text)}
    whole = all(text.lstrip("-").isdigit() for text in texts)
    for prefix in sorted(prefixes, key=len):
        rests = [name.removeprefix(prefix) for name in named if name.startswith(prefix)]
        if len(rests) == len(named) and set(texts) <= set(rests):
            numbers = whole and all(rest.lstrip("-").isdigit() for rest in rests)
            return [texts.get(rest, int(rest) if numbers else rest) for rest in rests]
    raise InvalidValueError(
        f"must have columns that are named after the classes of {names[0]}, {_listed(found)}, with "
        f"or without a prefix. Got {_listed(named)} instead: rename them, or give the class of "
        "each column as classes.",
        parameter=names[1],
    )


def _text(label: Any) -> str:
    """Write a label as a column would have it: 3.0 as 3."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label)


def _by_order(found: Sequence[Any], width: int, names: tuple[str, str]) -> list[Any]:
    """Take the sorted labels, or the numbers 0..C-1 where these are what was found."""
    # Without a 0 among them numbers may begin with 1.
    numbers = all(
        isinstance(label, int | float) and not isinstance(label, bool) and label in range(width)
        for label in found
    )
    if numbers and 0 in found and len(found) < width:
        return list(range(width))
    if len(found) != width:
        raise InvalidValueError(
            f"must name the class of each of the {width} columns of {names[1]!r}, since "
            f"{names[0]} has {len(found)} classes, {_listed(found)}. Got None instead.",
            parameter="classes",
        )
    return sorted(found, key=_sorting_key)


def _sorting_key(label: Any) -> tuple[bool, Any]:
    """Sort numbers by size, and everything else by its text after them."""
    number = isinstance(label, int | float)
    return (False, label) if number else (True, str(label))


def plain_label(label: Any) -> Any:
    """Return a label as JSON can have it."""
    return label if isinstance(label, str | int | float | bool) else str(label)


def _listed(labels: Sequence[Any]) -> str:
    shown = ", ".join(repr(label) for label in labels[:SHOWN])
    return f"[{shown}{', …' if len(labels) > SHOWN else ''}]"
