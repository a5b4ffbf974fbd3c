"""Tables: named columns, typed and checked when they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from exactregion._typing import IntArray
from exactregion.data.tables.cells import Column, hint_for
from exactregion.data.tables.names import did_you_mean, shown_names
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Table"]


class Table:
    """Named columns with the same number of rows.

    Attributes
    ----------
    label : str
        What messages call the table.
    columns : tuple of str
        Names in the order of the file.
    """

    def __init__(
        self,
        label: str,
        columns: Sequence[str],
        rows: int,
        read: Callable[[int], Column],
        *,
        lines: IntArray | None = None,
        decimal: str = ".",
    ) -> None:
        self.label = label
        self.columns = tuple(columns)
        self._rows = rows
        self._read = read
        self._lines = lines
        self._decimal = decimal
        self._known: dict[str, Column] = {}

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows

    def where(self, row: int) -> str:
        """Say where a row is; rows count from 1 without the header."""
        return f"row {row}" if self._lines is None else f"row {row} (line {self._lines[row - 1]})"

    def column(self, name: str) -> Column:
        """Give a column; an error if it is not there, or there twice.

        Parameters
        ----------
        name : str
            Its name.
        """
        if name not in self._known:
            self._known[name] = self._read(self._position(name))
        return self._known[name]

    def _position(self, name: str) -> int:
        found = self.columns.count(name)
        if found == 0:
            raise InvalidValueError(
                f"{self.label} has no column {name!r}.{did_you_mean(name, self.columns)} "
                f"It has {shown_names(self.columns)}."
            )
        if found > 1:
            raise InvalidValueError(
                f"{self.label} has {found} columns named {name!r}. "
                "Give each a name of its own, so that it is clear which is meant."
            )
        return self.columns.index(name)

    def require_numbers(self, name: str) -> None:
        """Raise an error that names the first cell of a column that is no number.

        Parameters
        ----------
        name : str
            The column.
        """
        column = self.column(name)
        if column.kind != "number":
            self._refuse(name, column)

    def take(self, names: Iterable[str], *, drop_missing: bool = False) -> pd.DataFrame:
        """Give columns as a frame without missing values; its index has the rows, from 1.

        Parameters
        ----------
        names : iterable of str
            Names of columns; those named twice come once.
        drop_missing : bool
            Leave rows with missing values out, instead of an error.
        """
        import pandas as pd

        columns = {name: self.column(name) for name in names}
        for name, column in columns.items():
            if column.kind in ("mixed", "other"):
                self._refuse(name, column)
        missing = np.zeros(len(self), dtype=np.bool_)
        for column in columns.values():
            missing |= column.missing
        if missing.any() and not drop_missing:
            self._name_missing(columns, int(missing.sum()))
        frame = pd.DataFrame({name: column.values for name, column in columns.items()})[~missing]
        if frame.empty:
            raise InvalidValueError(
                f"{self.label} has no row without missing values in {shown_names(tuple(columns))}."
            )
        return frame.astype({name: bool for name, c in columns.items() if c.kind == "boolean"})

    def _refuse(self, name: str, column: Column) -> NoReturn:
        if column.wrong is None:
            raise InvalidValueError(
                f"Column {name!r} must hold numbers. Got {column.type_name} instead."
            )
        cell = str(column.shown.loc[column.wrong])
        raise InvalidValueError(
            f"Column {name!r} must hold numbers, but {self.where(column.wrong)} has {cell!r}."
            f"{hint_for(cell, self._decimal)}"
        )

    def _name_missing(self, columns: dict[str, Column], rows: int) -> NoReturn:
        name, column = next((n, c) for n, c in columns.items() if c.missing.any())
        row = int(np.flatnonzero(column.missing)[0]) + 1
        cell = column.shown.loc[row]
        what = f"{cell!r} (no value)" if isinstance(cell, str) and cell else "an empty cell"
        others = f"; {rows} rows have missing values" if rows > 1 else ""
        raise InvalidValueError(
            f"Column {name!r} has {what} in {self.where(row)}{others}. "
            "Fill it in, or add --drop-missing to leave such rows out."
        )
