"""Regions on the command line: from data to a fitted one, and from that to tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.cli.asked import Asked, formula_for
from exactregion.cli.at import places_of, shown
from exactregion.cli.families import Family, family_of
from exactregion.cli.halfway import half_way
from exactregion.cli.options import Draws, Outcome
from exactregion.cli.output import INTERVAL_KEYS, Page, interval, interval_records
from exactregion.engine.progress import showing
from exactregion.plotting.wording import answer_of_region, guarantee_of_region, percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from exactregion.region import Band, ConfidenceRegion, Interval
    from exactregion.testing.result import ExactTestResult

__all__ = ["Answers", "Wishes", "fitted_region", "tested_member"]


def fitted_region(
    asked: Asked, outcome: Outcome, family: Family, draws: Draws, **settings: Any
) -> ConfidenceRegion:
    """Fit a region to data.

    Parameters
    ----------
    asked : Asked
        The data.
    outcome, family, draws
        Options of the command.
    **settings
        Of the region.
    """
    import exactregion as er

    settings |= {
        "n_resamples": draws.resamples,
        "rng": draws.seed,
        "pos_label": asked.outcomes.positive,
        "statistic": draws.statistic or "combined",
    }
    model = family_of(family)
    if asked.formula is not None:
        return er.ConfidenceRegion.from_formula(asked.formula, asked.frame, model=model, **settings)
    if any(asked.table.column(name).kind == "text" for name in asked.inputs):
        formula, frame = formula_for(asked, outcome)
        return er.ConfidenceRegion.from_formula(formula, frame, model=model, **settings)
    return er.ConfidenceRegion(model, **settings).fit(asked.X, asked.outcomes.y)


def tested_member(region: ConfidenceRegion, theta: list[float]) -> ExactTestResult:
    """Test one member of a family.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    theta : list of float
        Parameters of the member.
    """
    from exactregion.testing.result import ExactTestResult, Question

    evaluation = region.evaluate(theta)
    sample = region.fitted_.sample
    question = Question(
        kind="model",
        statistic=str(region.statistic),
        inputs=sample.inputs.names,
        seed=region.rng if isinstance(region.rng, int) else None,
        probabilities=evaluation.probabilities,
        successes=sample.inputs.to_user_order(sample.successes),
        trials=sample.inputs.to_user_order(sample.inputs.trials),
    )
    return ExactTestResult(
        pvalue=evaluation.pvalue,
        rank=evaluation.rank,
        statistic=float(evaluation.Z[evaluation.seat]),
        null_distribution=np.delete(evaluation.Z, evaluation.seat),
        question=question,
    )


# --- what is asked of a region ------------------------------------------------------------------


@dataclass(frozen=True)
class Wishes:
    """What is wanted of a region besides focused intervals.

    Attributes
    ----------
    joint : bool
        Joint intervals.
    ed50 : sequence of str
        Inputs whose value with P = 1/2 is wanted.
    at : sequence of str
        Places where the probability is wanted.
    """

    joint: bool = False
    ed50: Sequence[str] = ()
    at: Sequence[str] = ()


class Answers:
    """What a region answers, as tables and as JSON.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    wishes : Wishes
        What is wanted; checked before the search begins.
    """

    def __init__(self, region: ConfidenceRegion, wishes: Wishes) -> None:
        self.region = region
        self._wishes = wishes
        self._places = places_of(region, wishes.at)
        self._halves = [half_way(region, text) for text in wishes.ed50]
        self._joint: pd.DataFrame | None = None
        self._ed50: list[Interval] = []
        self._band: Band | None = None

    def find(self, *, show: bool) -> None:
        """Search.

        Parameters
        ----------
        show : bool
            Show progress.
        """
        region = self.region
        with showing("region", show=show):
            self.pvalue = float(region.pvalue(region.estimate_))
            self._intervals = region.intervals()
            if self._wishes.joint:
                self._joint = region.intervals(joint=True)
            for half in self._halves:
                self._ed50.append(region.functional(half, half.name))
            if self._places is not None:
                self._band = region.band(self._places.frame)

    def tell(self, page: Page) -> None:
        """Put tables and sentences on a page.

        Parameters
        ----------
        page : Page
            Gets them.
        """
        level = percent(self.region.coverage_)
        self._tell_intervals(page, level)
        if self._places is not None and self._band is not None:
            band = self._band
            rows = [
                (label, f"{p:.3f}", _bounds(low, high))
                for label, p, low, high in zip(
                    self._places.labels, band.estimate, band.lower, band.upper, strict=True
                )
            ]
            page.table(["probability at", "estimate", f"{level} band, all at once"], rows)
            if self._places.others:
                page.say(
                    "Inputs that are not named have their median, or most frequent value: "
                    f"{shown(self._places.others)}."
                )
        page.say(answer_of_region(self.region))
        page.say(guarantee_of_region(self.region))

    def _tell_intervals(self, page: Page, level: str) -> None:
        rows = [_row(str(name), row) for name, row in self._intervals.iterrows()]
        heads = ["parameter", "estimate", f"{level} interval"]
        rows += [_row(found.name, vars(found)) for found in self._ed50]
        if self._joint is not None:
            heads.append("all at once")
            joint = [interval(row)[1] for _, row in self._joint.iterrows()]
            rows = [
                (*row, cell) for row, cell in zip(rows, joint + [""] * len(self._ed50), strict=True)
            ]
        page.table(heads, rows)
        if self._halves:
            page.say("\n".join(half.explanation for half in self._halves))

    def content(self) -> dict[str, Any]:
        """Give all answers for programs."""
        region = self.region
        names = region.parameter_names_
        return {
            "coverage": region.coverage_,
            "status": region.status_,
            "pvalue": self.pvalue,
            "estimate": dict(zip(names, region.estimate_, strict=True)),
            "intervals": interval_records(self._intervals),
            "joint_intervals": None if self._joint is None else interval_records(self._joint),
            "ed50": self._ed50_content() if self._ed50 else None,
            "band": self._band_content(),
        }

    def _ed50_content(self) -> list[dict[str, Any]]:
        return [
            {
                "input": half.input,
                "others": half.others,
                **{key: getattr(one, key) for key in INTERVAL_KEYS},
            }
            for half, one in zip(self._halves, self._ed50, strict=True)
        ]

    def _band_content(self) -> list[dict[str, Any]] | None:
        if self._band is None or self._places is None:
            return None
        ends = zip(self._band.estimate, self._band.lower, self._band.upper, strict=True)
        resolution = self._band.resolution
        return [
            {
                "at": {**self._places.others, **place},
                "estimate": p,
                "lower": low,
                "upper": high,
                "resolution": resolution,
            }
            for place, (p, low, high) in zip(self._places.given, ends, strict=True)
        ]


def _row(name: str, row: Any) -> tuple[str, ...]:
    estimate, ends = interval(row)
    return name, estimate, ends


def _bounds(low: float, high: float) -> str:
    return "empty" if np.isnan(low) else f"[{low:.3f}, {high:.3f}]"
