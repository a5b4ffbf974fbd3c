"""From what users have (arrays, frames, lists, objects) to checked values: all checks of data.

The messages name the argument as the user knows it, which `name` says.
"""

from exactregion.data.reading.common import Part, from_native, is_missing
from exactregion.data.reading.inputs import Values, numeric, read_inputs, read_predictions
from exactregion.data.reading.outcomes import (
    MAX_TRIALS,
    Outcomes,
    check_no_label,
    check_total,
    counted,
    find_classes,
    labelled,
    no_trials_error,
    outcome_values,
    read_outcomes,
)

__all__ = [
    "MAX_TRIALS",
    "Outcomes",
    "Part",
    "Values",
    "check_no_label",
    "check_total",
    "counted",
    "find_classes",
    "from_native",
    "is_missing",
    "labelled",
    "no_trials_error",
    "numeric",
    "outcome_values",
    "read_inputs",
    "read_outcomes",
    "read_predictions",
]
