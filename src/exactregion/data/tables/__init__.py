"""Tables in files: CSV and Parquet, read into frames that passed every check.

A cell that cannot serve is named by its row, counted from 1 without the header, and by its line in
the file. Messages speak of the options of the command ``exactregion``, whose files these are.
"""

from exactregion.data.tables.cells import Column
from exactregion.data.tables.files import check_file
from exactregion.data.tables.names import did_you_mean, shown_names
from exactregion.data.tables.reading import read_table
from exactregion.data.tables.table import Table

__all__ = ["Column", "Table", "check_file", "did_you_mean", "read_table", "shown_names"]
