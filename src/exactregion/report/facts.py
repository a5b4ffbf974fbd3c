"""Data and settings of a result, item by item, and the lines of Python that reproduce it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import singledispatch
from typing import Any

from exactregion._typing import IntArray
from exactregion._version import __version__
from exactregion.calibration import CalibrationBelt
from exactregion.models import default_statistic
from exactregion.models.linear import LinearModel
from exactregion.plotting.formats import first_of, percent, shortened
from exactregion.plotting.wording import curves_text
from exactregion.region import ConfidenceRegion
from exactregion.statistics import as_class_statistic, as_statistic, names_of_statistics
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.result import ExactTestResult
from exactregion.testing.segment_result import SegmentTestResult

MOST_NAMES, LONGEST = 12, 160
"""Names, and letters of one fact: about two lines of the page."""

Facts = list[tuple[str, str]]


@singledispatch
def facts_of(result: Any) -> Facts:
    """List data and settings of a result."""
    raise NotImplementedError(type(result))


@facts_of.register
def _(result: ExactTestResult) -> Facts:
    question = result.question
    inputs = [] if question.kind == "calibration" else [("Inputs", _listed(question.inputs))]
    return [
        *_data_facts(question.successes, question.trials),
        *inputs,
        ("Statistic", _statistic(question.statistic)),
        *_draw_facts(result.n_resamples, question.seed),
    ]


@facts_of.register
def _(region: ConfidenceRegion) -> Facts:
    fitted = region.fitted_
    sample, design = fitted.sample, fitted.design
    formula = [] if design is None else [("Formula", shortened(design.formula, LONGEST))]
    return [
        *_data_facts(sample.successes, sample.inputs.trials),
        *formula,
        ("Inputs", _listed(sample.inputs.names if design is None else design.columns)),
        ("Family", _family(region)),
        ("Parameters", _listed(region.parameter_names_)),
        ("Level", _level(region)),
        ("Statistic", _statistic(repr(as_statistic(region.statistic)))),
        *_draw_facts(fitted.resampling.n_resamples, fitted.seed),
    ]


@facts_of.register
def _(belt: CalibrationBelt) -> Facts:
    question = belt.test.question
    return [
        *_data_facts(question.successes, question.trials),
        ("Predictions", f"{belt.y_prob.min():.3g} to {belt.y_prob.max():.3g}"),
        ("Level", _level(belt.region)),
        ("Curves", curves_text(belt)),
        ("Statistic of the p-value", _statistic(question.statistic)),
        ("Statistic of the belt", _statistic(repr(as_statistic(belt.region.statistic)))),
        *_draw_facts(belt.test.n_resamples, question.seed),
    ]


@facts_of.register(Mapping)
def _(results: Mapping[str, Any]) -> Facts:
    facts = facts_of(next(iter(results.values())))
    return [fact for fact in facts if fact[0] != "Predictions"]  # in which models differ


@facts_of.register
def _(result: ClassTestResult) -> Facts:
    return [
        ("Rows", f"{result.n:,}"),
        ("Classes", f"{len(result.classes):,}: {_listed(tuple(map(str, result.classes)))}"),
        ("Statistic", "omnibus" if _has_usual_statistic(result) else _tidy(result.method)),
        *_draw_facts(result.n_resamples, result.seed),
    ]


@facts_of.register
def _(result: SegmentTestResult) -> Facts:
    outcomes = f"{result.trials:,} in {len(result.classes):,} classes"
    if result.successes is not None:
        outcomes = _share_text(result.successes, result.trials)
    columns = [("Columns", _listed(result.columns))] if result.columns else []
    columns += [("Combined", f"up to {result.depth}")] if result.depth > 1 else []
    fewer = f" ({result.left_out:,} with fewer left out)" if result.left_out else ""
    return [
        ("Outcomes", outcomes),
        *columns,
        ("Segments", f"{len(result.table):,} with {result.min_rows:,} outcomes or more{fewer}"),
        ("Statistic", result.method),
        *_draw_facts(result.n_resamples, result.seed),
    ]


def _share_text(positive: int, total: int) -> str:
    return f"{positive:,} positive of {total:,} ({percent(positive / total)})"


def _data_facts(successes: IntArray, trials: IntArray) -> Facts:
    outcomes = _share_text(int(successes.sum()), int(trials.sum()))
    return [("Rows", f"{len(trials):,}"), ("Outcomes", outcomes)]


def _draw_facts(n_resamples: int, seed: int | None) -> Facts:
    return [
        ("Resamples", f"{n_resamples:,}"),
        ("Seed", "not fixed" if seed is None else str(seed)),
        ("Made with", f"exactregion {__version__}"),
        ("Date", datetime.now().astimezone().date().isoformat()),
    ]


def _listed(names: tuple[str, ...]) -> str:
    return first_of([shortened(name) for name in names], MOST_NAMES) or "objects"


def _family(region: ConfidenceRegion) -> str:
    model = region.model_
    if isinstance(model, LinearModel):
        return type(model).__name__ + ("" if model.intercept else ", without an intercept")
    return _tidy(repr(model))


def _tidy(text: str) -> str:
    """Cut a long representation, and leave out where in memory things were."""
    return shortened(re.sub(r" at 0x[0-9a-f]+", "", text), LONGEST)


def _statistic(statistic: str) -> str:
    """Write a statistic by its name where it has no settings of its own."""
    usual = {repr(as_statistic(name)): name for name in names_of_statistics()}
    return _tidy(usual.get(statistic, statistic))


def _level(region: ConfidenceRegion) -> str:
    exactly = percent(region.coverage_)
    if region.accepted_ranks is not None:
        ranks = region.accepted_ranks_
        return f"{exactly}, as ranks {ranks.low} to {ranks.high} of {ranks.m}"
    requested = percent(region.confidence_level)
    return exactly if requested == exactly else f"{exactly} ({requested} was requested)"


def code_of(result: Any) -> str:
    """Write the lines of Python that make the report of a result again."""
    if isinstance(result, Mapping):
        return _code_of_several(result)
    if isinstance(result, CalibrationBelt):
        return _code("belt", f"er.calibration_belt(y_true, y_prob, {_belt_settings(result)})")
    if not isinstance(result, ConfidenceRegion):
        is_segments = isinstance(result, SegmentTestResult)
        return _code("result", _segment_call(result) if is_segments else _test_call(result))
    settings = _settings(result, seed=result.fitted_.seed)
    design, model = result.fitted_.design, _model_code(result)
    call = f"er.ConfidenceRegion({model}, {settings}).fit(X, y)"
    if design is not None:
        formula = f"{design.formula!r}, data, model={model}, {settings}"
        call = f"er.ConfidenceRegion.from_formula({formula})"
    return _code("region", call)


def _code_of_several(results: Mapping[str, Any]) -> str:
    first: Any = next(iter(results.values()))
    models = "{" + ", ".join(f"{name!r}: …" for name in results) + "}"
    if isinstance(first, CalibrationBelt):
        call = f"er.calibration_belt(y_true, models, {_belt_settings(first)})"
        return _code("belts", call).replace("\n\n", f"\n\nmodels = {models}\n", 1)
    call = _test_call(first).replace("y_prob", "models").replace("candidate, X", "models, X")
    call = call.replace("model_test", "compare")
    return f"import exactregion as er\n\nmodels = {models}\ntable = {call}"


def _code(name: str, call: str) -> str:
    return f'import exactregion as er\n\n{name} = {call}\n{name}.report("{name}.html")'


def _has_usual_statistic(result: ExactTestResult | ClassTestResult) -> bool:
    tested = result if isinstance(result, ClassTestResult) else result.question
    calibration = tested.kind == "calibration"
    name = "omnibus" if calibration else "multiscale"
    if isinstance(result, ClassTestResult):
        return result.method == repr(as_class_statistic(name, calibration=calibration))
    return result.question.statistic == repr(as_statistic(name))


def _test_call(result: ExactTestResult | ClassTestResult) -> str:
    tested = result if isinstance(result, ClassTestResult) else result.question
    call = "calibration_test(y_true, y_prob"
    call = call if tested.kind == "calibration" else "model_test(candidate, X, y"
    settings = [] if _has_usual_statistic(result) else ["statistic=statistic"]
    settings += [f"n_resamples={result.n_resamples}", *_seed(tested.seed)]
    return f"er.{call}, {', '.join(settings)})"


def _segment_call(result: SegmentTestResult) -> str:
    settings = [f"depth={result.depth}"] if result.columns else []
    settings += [f"min_rows={result.min_rows}"]
    edges = (f"{name!r}: {cuts.tolist()!r}" for name, cuts in result.edges.items())
    settings += [f"bins={{{', '.join(edges)}}}"] if result.edges else []
    settings += [] if result.method == "shift" else [f"statistic={result.method!r}"]
    settings += [f"confidence_level={result.confidence_level!r}"]
    settings += [f"n_resamples={result.n_resamples}", *_seed(result.seed)]
    segments = f"data[{list(result.columns)!r}]" if result.columns else "segments"
    return f"er.segment_test(y_true, y_prob, {segments}, {', '.join(settings)})"


def _belt_settings(belt: CalibrationBelt) -> str:
    settings = _settings(belt.region, seed=belt.test.question.seed)
    return settings if belt.degree == 1 else f"degree={belt.degree}, {settings}"


def _settings(region: ConfidenceRegion, seed: int | None) -> str:
    level = f"confidence_level={region.confidence_level!r}"
    if region.accepted_ranks is not None:
        level = f"accepted_ranks={tuple(region.accepted_ranks)!r}"
    named = isinstance(region.statistic, str)
    statistic = f"statistic={region.statistic!r}" if named else "statistic=statistic"
    settings = [level, f"n_resamples={region.n_resamples}", *_seed(seed)]
    is_default = region.statistic == default_statistic(region.model)
    return ", ".join(settings if is_default else [statistic, *settings])


def _seed(seed: int | None) -> list[str]:
    return [] if seed is None else [f"rng={seed}"]


def _model_code(region: ConfidenceRegion) -> str:
    if isinstance(region.model, str):
        return repr(region.model)
    plain = isinstance(region.model, LinearModel) and region.model.intercept
    return f"er.models.{type(region.model).__name__}()" if plain else "model"
