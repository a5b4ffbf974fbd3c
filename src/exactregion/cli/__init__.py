"""The command line: parse, call the library, print.

``main`` is the command ``exactregion``. Results go to stdout, progress and notes to stderr. Exit
codes: 0 done; 1 rejected, only with ``--fail-below``; 2 bad input; 3 a defect; 130 interrupted;
141 nobody reads the pipe.

``--json`` prints one object. Its keys stay; others may join them. What is not finite is null, and a
``status`` beside it says why.

``test``, ``calibrate``, ``fit`` and ``show``
    version, command, file, n (rows used), successes, trials, statistic, resamples, seed, fail_below
    and rejected (null without ``--fail-below``); but for ``show`` also dropped (rows left out) and
    event (what a success is)
``test``
    inputs, formula, candidates: a list of name, pvalue, rank, z
``calibrate``
    probability, by, pvalue, rank, z, coverage; belt: null, or status, contradicted,
    resolution, intervals, departures (start, stop, side), grid, estimate, lower, upper; groups:
    null, or a list of group, n, observed, predicted, pvalue, pvalue_holm, rank, z
``fit`` and ``show``
    inputs, formula, model, confidence_level, coverage, status, pvalue (the largest found),
    estimate; intervals, and joint_intervals or null: lists of parameter, estimate, lower, upper,
    status, resolution; ed50: null, or a list of input, others and the same; band: null, or a list
    of at, estimate, lower, upper, resolution
``datasets``
    datasets: a list of name, rows, columns, about
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``exactregion``, and give its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process by default.
    """
    try:
        from exactregion.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        return 130
