"""Which kind of misfit a test found: the parts of its statistic, and the direction of residuals.

All of this describes. The p-value of the test decides; that of a part is exact on its own, but the
smallest of several is not.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import gammaincc, gammaln, logit

from exactregion._typing import FloatArray
from exactregion.data.files import Record
from exactregion.ranking import ranked
from exactregion.statistics import Curvature, Discrepancy, Score, Spiegelhalter, Statistic

if TYPE_CHECKING:
    from exactregion.testing.result import Question

NARROW = 0.25
"""Bandwidths below this, in units of the spread of the inputs, are called local: between the narrow
kernel of `Omnibus`, an eighth, and its wide one, half the median distance, of which the latter is
about half the spread."""

CLEAR = 2.0
"""Standard errors from which the second of level and spread is named beside the first: about the 5
% of a single look, which is enough for a description."""

BINS = 1000
"""Bins of predictions in which residuals are added up before they are smoothed: much finer than the
width of smoothing, and a matrix of 8 MB however many rows there are."""

WIDTH = 0.25
"""Width over which residuals are smoothed to see where they are largest, in standard deviations of
the predictions: between the two kernels of `Omnibus`."""


@dataclass(frozen=True, eq=False)
class Part(Record):
    """What one part of a statistic found in the outcomes: a description.

    Attributes
    ----------
    name : str
        The part, such as "curvature".
    kind : str
        What it looks for: "level and spread", "curvature", "broad pattern", "local pattern" or
        "other".
    pvalue, rank : float and int
        As of the test, on the same data sets with the original in the same seat. Exact for this
        part alone, if it had been chosen beforehand; not for the smallest of several parts.
    statistic : float
        Z of the original by this part.
    null_distribution : ndarray of shape (n_resamples,)
        Z of the alternatives.
    """

    name: str
    kind: str
    pvalue: float
    rank: int
    statistic: float
    null_distribution: FloatArray = field(repr=False, metadata={"large": True})

    def to_dict(self) -> dict[str, Any]:
        """Return name, kind, pvalue, rank and z, which is the statistic, as plain values."""
        content = super().to_dict()
        z = content.pop("statistic")
        return {**content, "z": z}

    @property
    def log_tail(self) -> float:
        """Logarithm of how far out Z is, by a scaled χ² with mean and variance of the alternatives.

        Parts often share the smallest rank-based p-value; this tells which is the clearest.
        """
        null = self.null_distribution[np.isfinite(self.null_distribution)]
        mean, variance = (float(null.mean()), float(null.var())) if len(null) else (0.0, 0.0)
        if not np.isfinite(self.statistic) or mean <= 0 or variance <= 0:
            return 0.0
        shape = mean**2 / variance
        x = self.statistic * mean / variance
        tail = float(gammaincc(shape, x))
        # far out only the leading term of its expansion is left
        return float(np.log(tail) if tail > 0 else (shape - 1) * np.log(x) - x - gammaln(shape))


@dataclass(frozen=True)
class Misfit(Record):
    """The kind of misfit that is clearest in the outcomes: a description.

    Attributes
    ----------
    kind : str
        "contradiction", "level", "spread", "level and spread", "curvature", "broad pattern", "local
        pattern" or "other".
    text : str
        What is off, in a sentence without its full stop.
    part : str or None
        The part of the statistic that saw it; None where it has none.
    """

    kind: str
    text: str
    part: str | None


def part_of(statistic: Statistic, Z: FloatArray, seat: int) -> Part:
    """Rank the original by one part, in the seat that it has in the test."""
    return Part(_short_name(statistic), _kind_of(statistic), **ranked(Z, seat))


def misfit_of(parts: tuple[Part, ...], question: Question, *, is_infinite: bool) -> Misfit:
    """Name what is off, by the part with the smallest p-value.

    Among equals, a part with a direction comes before a pattern, and the one farther out before the
    others. Directions are those of the residuals.
    """
    clearest = min(
        parts,
        key=lambda part: (part.pvalue, part.kind not in _WITH_DIRECTION, part.log_tail),
        default=None,
    )
    name = None if clearest is None else clearest.name
    subject = "predictions" if question.kind == "calibration" else "probabilities"
    residuals = _Residuals.of(question)
    # rows that came in chunks are in groups, in which certainties may hide: Z = ∞ tells then
    if residuals.contradicted or (is_infinite and clearest is not None):
        count = f" ({residuals.contradicted:,} of them)" if residuals.contradicted else ""
        text = f"outcomes contradict {subject} of exactly 0 or 1{count}"
        return Misfit("contradiction", text, None)
    kind = "other" if clearest is None else clearest.kind
    if kind == "level and spread":
        return Misfit(*residuals.level_and_spread(subject), name)
    if kind == "curvature":
        return Misfit(kind, residuals.curvature(subject), name)
    if kind == "other":
        # a statistic that is not known to look for anything: whichever direction is the clearest
        kind, text = residuals.clearest(subject)
        return Misfit(kind, text, name)
    return Misfit(kind, residuals.pattern(subject, in_inputs=question.kind == "model"), name)


_WITH_DIRECTION = ("level and spread", "curvature")


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Successes less those expected, with their variances, where predictions are not certain."""

    p: FloatArray
    residual: FloatArray
    variance: FloatArray
    contradicted: int
    observed: float
    predicted: float

    @classmethod
    def of(cls, question: Question) -> _Residuals:
        p, k, t = question.probabilities, question.successes, question.trials
        use = (p > 0) & (p < 1) & (t > 0)
        total = max(int(t.sum()), 1)
        return cls(
            p[use],
            (k - t * p)[use],
            (t * p * (1 - p))[use],
            int(k[p == 0].sum() + (t - k)[p == 1].sum()),
            float(k.sum() / total),
            float(p @ t / total),
        )

    @property
    def directions(self) -> FloatArray:
        """Standardised sums of the residuals along 1, logit p and its square: (3,).

        Each is made orthogonal to those before it.
        """
        if not len(self.p):
            return np.zeros(3)
        root = np.sqrt(self.variance)
        powers = root[:, None] * logit(self.p)[:, None] ** np.arange(3)
        if len(powers) < 3:
            powers = np.vstack([powers, np.zeros((3, 3))])
            root = np.append(root, np.ones(3))
        Q, R = np.linalg.qr(powers)
        left = np.diag(R)
        residual = np.zeros(len(root))
        residual[: len(self.residual)] = self.residual
        z = np.sign(left) * (Q.T @ (residual / root))
        # a power that those before it explain has no direction of its own
        return np.where(np.abs(left) > 1e-6 * np.linalg.norm(powers, axis=0), z, 0.0)

    def level_and_spread(self, subject: str) -> tuple[str, str]:
        """Say which of level and spread is off, both if both clearly are."""
        level, spread, _ = self.directions
        texts = {"level": self._level(level, subject), "spread": _spread(spread, subject)}
        sizes = {"level": abs(level), "spread": abs(spread)}
        largest = max(sizes, key=lambda kind: sizes[kind])
        if min(sizes.values()) >= CLEAR:
            return "level and spread", f"{texts['level']}, and {_spread(spread, 'they')}"
        return largest, texts[largest]

    def _level(self, z: float, subject: str) -> str:
        side = "low" if z >= 0 else "high"
        mean = f"{self.predicted:.3g} predicted, {self.observed:.3g} observed"
        return f"the {subject} are too {side} on average ({mean})"

    def curvature(self, subject: str) -> str:
        """Say to which side the curve bends."""
        ends, middle = ("low", "high") if self.directions[2] >= 0 else ("high", "low")
        return (
            f"apart from a shift and stretch, the lowest and highest {subject} are too {ends}, "
            f"and those in between too {middle}"
        )

    def clearest(self, subject: str) -> tuple[str, str]:
        """Say which direction is the clearest, or where the residuals are largest."""
        directions = np.abs(self.directions)
        if directions.max() < CLEAR:
            return "other", self.pattern(subject, in_inputs=False)
        if directions.argmax() == 2:
            return "curvature", self.curvature(subject)
        return self.level_and_spread(subject)

    def pattern(self, subject: str, *, in_inputs: bool) -> str:
        """Say where along the predictions the smoothed residuals are largest."""
        place, z = self._largest_smoothed()
        if in_inputs and abs(z) < CLEAR:
            return f"the {subject} are off somewhere in the inputs, not at any level of their own"
        side = "low" if z >= 0 else "high"
        return f"the {subject} around {place:.2f} are too {side}"

    def _largest_smoothed(self) -> tuple[float, float]:
        """Return a prediction around which residuals are largest, and their standard score."""
        if not len(self.p):
            return np.nan, 0.0
        low, high = float(self.p.min()), float(self.p.max())
        if low == high:
            return low, float(self.residual.sum() / np.sqrt(self.variance.sum()))
        bins = np.minimum((BINS * (self.p - low) / (high - low)).astype(np.int64), BINS - 1)
        residual, variance = (
            np.bincount(bins, weights, BINS) for weights in (self.residual, self.variance)
        )
        middles = low + (np.arange(BINS) + 0.5) / BINS * (high - low)
        at = middles[variance > 0]
        weights = np.exp(-0.5 * ((at[:, None] - middles) / (WIDTH * self.p.std())) ** 2)
        # one more: where all but nothing is expected, a single outcome is no pattern
        z = weights @ residual / np.sqrt(weights**2 @ variance + 1.0)
        largest = int(np.abs(z).argmax())
        return float(at[largest]), float(z[largest])


def _spread(z: float, subject: str) -> str:
    who = subject if subject == "they" else f"the {subject}"
    if z >= 0:
        return f"{who} are not extreme enough: low ones are too high, high ones too low"
    return f"{who} are too extreme: low ones are too low, high ones too high"


def _kind_of(statistic: Statistic) -> str:
    if isinstance(statistic, Score | Spiegelhalter):
        return "level and spread"
    if isinstance(statistic, Curvature):
        return "curvature"
    if isinstance(statistic, Discrepancy):
        bandwidth, kernel = statistic.bandwidth, statistic.kernel
        if bandwidth is None:
            bandwidth = getattr(kernel, "bandwidth", None)
        multiple = getattr(kernel, "multiple", 1.0)
        is_local = multiple < 1 if bandwidth is None else bandwidth < NARROW
        return "local pattern" if is_local else "broad pattern"
    return "other"


def _short_name(statistic: Any) -> str:
    """Write a statistic, or a kernel, by its name and the settings that are not the usual ones."""
    name = type(statistic).__name__.lower()
    settings = []
    for one in fields(statistic) if is_dataclass(statistic) else ():
        value = getattr(statistic, one.name)
        usual = one.default if one.default_factory is MISSING else None
        if value != usual:
            settings.append(_short_name(value) if is_dataclass(value) else f"{one.name}={value!r}")
    return f"{name}({', '.join(settings)})" if settings else name
