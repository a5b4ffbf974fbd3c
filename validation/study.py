"""How a part of the study runs: repetitions in shards, resumed where they stopped, and tables.

A part is a module of `validation.parts` with

- ``CASES``: a list of `Case`, each settings that are plain values, and how many repetitions;
- ``rows(settings, repetition)``: one repetition, as a list of flat records; its random numbers
  come from ``generator(settings, repetition)``, so that it can be run again alone;
- ``tables(frame)``: data frames by name, made of the records of all repetitions;
- ``figures(tables)``, if it has any: matplotlib figures by name.

Records are kept as Parquet in build/study while the study runs, and put together in
validation/results/NAME.parquet, from where a later run goes on; tables go to
validation/results/NAME.json, and figures to docs/images/study. What README and docs say is read off
these.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

from exactregion.data.files import write_whole

__all__ = ["Case", "Part", "Task", "generator", "records_of", "write_tables"]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "validation" / "results"
FIGURES = ROOT / "docs" / "images" / "study"
SHARDS = ROOT / "build" / "study"
MOST_BYTES = 3_000_000
"""Records of a part that take more than this are summed up in tables, and not kept in git."""


@dataclass(frozen=True)
class Case:
    """One setting of a part.

    Attributes
    ----------
    settings : dict
        Plain values (str, int, float, bool).
    repetitions, full : int
        How many data sets, for minutes and for hours of study.
    together : int
        How many of them make a task: one that takes a few seconds.
    """

    settings: dict[str, Any]
    repetitions: int
    full: int
    together: int = 10


def generator(settings: dict[str, Any], repetition: int) -> np.random.Generator:
    """Random numbers of one repetition, that no other has."""
    return np.random.default_rng([int(_digest(settings), 16) % 2**32, repetition])


def _digest(settings: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Task:
    """A few repetitions of one case, kept in one shard."""

    module: ModuleType
    settings: dict[str, Any]
    repetitions: range
    shard: Path
    recorded: bool = False  # in validation/results

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the module by name: joblib's workers import it."""
        return _task, (self.module.__name__, self.settings, self.repetitions, self.shard)

    @property
    def done(self) -> bool:
        return self.recorded or self.shard.exists()

    def run(self) -> None:
        records = [
            {**self.settings, "repetition": repetition, **record}
            for repetition in self.repetitions
            for record in self.module.rows(self.settings, repetition)
        ]
        self.shard.parent.mkdir(parents=True, exist_ok=True)
        frame = pd.DataFrame(records)
        write_whole(self.shard, lambda file: frame.to_parquet(file, index=False))


def records_of(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Give a table as plain records, with six digits."""
    records: list[dict[str, Any]] = json.loads(table.to_json(orient="records", double_precision=6))
    return records


def _lines(table: pd.DataFrame) -> str:
    """Write a table with a record a line, so that changes can be read."""
    return ",\n".join(json.dumps(record, ensure_ascii=False) for record in records_of(table))


def write_tables(name: str, tables: dict[str, pd.DataFrame]) -> None:
    """Write tables to validation/results, where the docs read them."""
    rows = [f"{json.dumps(title)}: [\n{_lines(table)}\n]" for title, table in tables.items()]
    text = "{\n" + ",\n".join(rows) + "\n}"
    write_whole(RESULTS / f"{name}.json", lambda file: file.write(f"{text}\n".encode()))


def _of_case(records: pd.DataFrame, case: Case) -> pd.DataFrame:
    columns = records.reindex(columns=list(case.settings))
    return records[(columns == pd.Series(case.settings, dtype=object)).all(axis=1)]


def _first_runs(records: pd.DataFrame) -> pd.DataFrame:
    """Return records in order of their repetitions, each from the first run that had it."""
    run = records.index.get_level_values("run").to_series(index=records.index)
    first = run.groupby(records["repetition"]).transform("min")
    return records[run == first].sort_values("repetition", kind="stable")


def _task(module: str, *parts: Any) -> Task:
    from importlib import import_module

    return Task(import_module(module), *parts)


@dataclass(frozen=True)
class Part:
    """A part of the study, by the name of its module."""

    name: str

    @cached_property
    def module(self) -> ModuleType:
        from importlib import import_module

        return import_module(f"validation.parts.{self.name}")

    @property
    def title(self) -> str:
        return (self.module.__doc__ or self.name).partition("\n")[0].rstrip(".")

    @property
    def records(self) -> pd.DataFrame:
        """What validation/results holds."""
        path = RESULTS / f"{self.name}.parquet"
        return pd.read_parquet(path) if path.exists() else pd.DataFrame()

    def tasks(self, *, full: bool = False, at_most: int | None = None) -> Iterator[Task]:
        """Give all tasks, done or not."""
        records = self.records
        for case in self.module.CASES:
            recorded = set(_of_case(records, case)["repetition"]) if len(records) else set()
            wanted = case.full if full else case.repetitions
            wanted = wanted if at_most is None else min(wanted, at_most)
            for start in range(0, wanted, case.together):
                some = range(start, min(start + case.together, wanted))
                name = f"{_digest(case.settings)}-{some.start}-{some.stop}.parquet"
                shard = SHARDS / self.name / name
                yield Task(self.module, case.settings, some, shard, recorded.issuperset(some))

    def forget(self) -> None:
        """Remove all records, those of the repository too."""
        (RESULTS / f"{self.name}.parquet").unlink(missing_ok=True)
        shutil.rmtree(SHARDS / self.name, ignore_errors=True)

    def finish(self) -> dict[str, pd.DataFrame]:
        """Put all records together, and write tables and figures."""
        shards = sorted((SHARDS / self.name).glob("*.parquet"))
        found = [part for part in (self.records, *map(pd.read_parquet, shards)) if len(part)]
        if not found:
            return {}
        every = pd.concat(found, keys=range(len(found)), names=["run", "row"])
        cases = [_first_runs(_of_case(every, case)) for case in self.module.CASES]
        frame = pd.concat(cases, ignore_index=True)
        RESULTS.mkdir(parents=True, exist_ok=True)
        kept = frame.to_parquet(index=False, compression="zstd")
        path = RESULTS / f"{self.name}.parquet"
        if len(kept) <= MOST_BYTES:
            write_whole(path, lambda file: file.write(kept))
        else:
            path.unlink(missing_ok=True)  # of a smaller study
        tables: dict[str, pd.DataFrame] = self.module.tables(frame)
        write_tables(self.name, tables)
        self.draw(tables)
        return tables

    def draw(self, tables: dict[str, pd.DataFrame]) -> None:
        """Write the figures that this part has."""
        figures = getattr(self.module, "figures", None)
        if figures is None:
            return
        import matplotlib as mpl

        mpl.use("agg")
        FIGURES.mkdir(parents=True, exist_ok=True)
        for name, figure in figures(tables).items():
            figure.savefig(FIGURES / f"{name}.png", dpi=150, bbox_inches="tight")
