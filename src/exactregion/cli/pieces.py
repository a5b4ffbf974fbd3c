"""Predictions in several Parquet files, or on a cluster: tested piece by piece, never all read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exactregion.cli.asked import check_outcome_apart
from exactregion.cli.options import Draws, Outcome
from exactregion.data.tables import check_file
from exactregion.errors import InvalidValueError, MissingDependencyError
from exactregion.testing.result import ExactTestResult

__all__ = ["Pieces"]

PATIENCE = "20s"
"""How long a scheduler may take to answer."""


@dataclass(frozen=True)
class Pieces:
    """Files that belong together, in the order of their names.

    Attributes
    ----------
    files : list of str
        The files.
    outcome : Outcome
        The outcome, by column.
    probability : str
        The column with the predictions.
    cluster : str or None
        Address of a Dask scheduler.
    """

    files: list[str]
    outcome: Outcome
    probability: str
    cluster: str | None

    def check(self, by: str | None) -> None:
        """Check all that can be checked before the work."""
        if self.outcome.outcome is None:
            raise InvalidValueError("--outcome must name the column with the outcome.")
        check_outcome_apart(self.outcome, [self.probability, by])
        if self.outcome.trials is not None:
            raise InvalidValueError("--trials goes with one file that is read as a whole.")
        for file in self.files:
            check_file(Path(file))
            if Path(file).suffix not in (".parquet", ".pq"):
                raise InvalidValueError(
                    f"Several files, or a cluster, must be Parquet files. Got {file!r}: turn it "
                    "into Parquet, or give one CSV file alone."
                )

    def test(
        self, draws: Draws, *, by: str | None, jobs: int | None, progress: bool
    ) -> tuple[ExactTestResult, Any]:
        """Test all rows, and the groups where they are asked for."""
        import exactregion as er

        settings: dict[str, Any] = {
            "statistic": draws.statistic,
            "n_resamples": draws.resamples,
            "rng": draws.seed,
            "pos_label": self.outcome.positive,
            "n_jobs": jobs,
            "progress": progress,
        }
        with self._data() as data:
            columns = self.outcome.outcome, self.probability
            test = er.calibration_test(*columns, data=data, **settings)
            groups = None
            if by is not None:
                groups = er.calibration_test(*columns, data=data, by=by, **settings)
        return test, groups

    @contextmanager
    def _data(self) -> Iterator[Any]:
        files = sorted(self.files)
        if self.cluster is None:
            yield files
            return
        try:
            import dask.dataframe as dd
            from distributed import Client
        except ImportError as error:
            raise MissingDependencyError(
                "--cluster needs Dask: pip install exactregion[dask]"
            ) from error
        try:
            client: Any = Client(self.cluster, timeout=PATIENCE)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            raise InvalidValueError(
                f"--cluster must be the address of a Dask scheduler, such as tcp://host:8786. "
                f"Nobody answers at {self.cluster!r}."
            ) from error
        with client:
            yield dd.read_parquet(files)

    def facts(self, test: ExactTestResult) -> dict[str, str]:
        """Say in words what the data are."""
        successes, trials = int(test.question.successes.sum()), int(test.question.trials.sum())
        files = f"{len(self.files):,} file{'s' if len(self.files) > 1 else ''}"
        return {
            "rows": f"{trials:,} in {files}",
            "outcome": f"{self._event} in {successes:,} of {trials:,}",
        }

    def content(self, test: ExactTestResult) -> dict[str, Any]:
        """Say the same for programs."""
        trials = int(test.question.trials.sum())
        return {
            "n": trials,
            "dropped": 0,
            "successes": int(test.question.successes.sum()),
            "trials": trials,
            "event": self._event,
        }

    @property
    def _event(self) -> str:
        positive = self.outcome.positive
        return f"{self.outcome.outcome} = {1 if positive is None else positive}"
