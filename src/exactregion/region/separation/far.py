"""Whether a region is unbounded, and in which directions.

For families with P_θ(Y=+1|x) = F(x·θ), F strictly increasing, a θ that gives an observed outcome
probability 0 is never a member. So members lie in a polyhedron, whose directions without end are

    C = {u : x_j·u ≥ 0 in rows with successes, x_j·u ≤ 0 in rows with failures}.

If C = {0}, the region is bounded. Otherwise the data are separated, completely or in part, or
columns of the design are collinear. Let J₀ be the rows that are zero on a face of C, and u a
direction in its relative interior. Far along θ₀ + s·u the rows outside J₀ are certain, and all m
data sets agree with the observed outcomes there. The rank depends on x_j·θ₀ in J₀ alone, and can be
computed. If it is accepted, θ₀ + s·u plus any element of the face is a member.

Conversely, let θ₁, θ₂, … be members without bound. The rows whose x_j·θ grows without bound, along
a subsequence, are those outside the J₀ of some face: there is a member as above for that face. It
follows that a·θ has no upper end over the region if and only if a·u > 0 for some u of a face with a
far member.

C and its faces are computed in exact arithmetic (`separation.cones`, `separation.signed_rows`).
With several classes there is a row for each class that an outcome is not, and the same conclusions:
along u that class becomes impossible where the row is positive. Far members are only searched then.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.sample import Sample
from exactregion.models import ClassModel
from exactregion.models.base import Model
from exactregion.models.restricted import Restricted
from exactregion.region.fitted import FittedRegion
from exactregion.region.rays import Depth
from exactregion.region.scoring import few_rows
from exactregion.region.separation.cones import Cone
from exactregion.region.separation.signed_rows import SignedRows
from exactregion.region.window import Membership, Window, likely_parameters, window_at

__all__ = ["FarMember", "FarMembers", "Separation", "far_members", "separation_of"]

FACES = 40
"""Most faces on which far members are looked for. With one slope there are three at most. More than
the first are needed where the outcomes fit badly or, with probability 1 - q/m, by the seat."""

TRIES = 200
"""Most rows per face that are tried for facets, nearest first: one takes about a millisecond."""

FIRST_PREDICTOR, DOUBLINGS = 40.0, 40
"""First linear predictor at which rows are expected to be certain, and how often it is doubled
until they are: the logistic function is 1 from 37 on, and 0 from -746."""

FARTHER = 2.0 ** np.arange(1, 7)
"""A far member counts if its multiples along the direction are members too. For the logistic family
the rank cannot change there; in other families the columns of the score grow with the predictor."""

DRIFT = 1e-6
"""Most that a probability in J₀ may move between θ₀ and θ₀ + s·u, by rounding alone. Where it moves
by more, doubles are too coarse for the direction, and nothing is said of it."""

ROUNDS, PROPOSALS, SHRINK = 12, 16, 0.6
"""Rounds of random steps towards a far member, steps per round, and the factor of their size after
a round without progress. Nearly always the start is a member already."""

WIDE_SCALES, WIDE_POINTS = (0.5, 1.0, 2.0, 4.0, 8.0), 100
"""Standard errors at which random points are tried in the end, and how many at each."""


@dataclass(frozen=True, eq=False)
class Separation:
    """Directions in which the observed outcomes never become impossible: C, or a face of it.

    Attributes
    ----------
    cone : Cone
        The face, in exact arithmetic and units of its own.
    """

    cone: Cone
    _rows: SignedRows

    @cached_property
    def certain(self) -> BoolArray:
        """Rows that become certain along directions of the relative interior: shape (n,)."""
        return self._rows.used & self.cone.positive[self._rows.place]

    @cached_property
    def undecided(self) -> BoolArray:
        """The other rows with trials, J₀, whose probabilities no direction changes: shape (n,)."""
        return self._rows.used & ~self.certain

    @cached_property
    def direction(self) -> FloatArray:
        """A u in the relative interior, rounded to doubles: shape (d,).

        The smallest |x_j·u| of the rows that become certain is about one.
        """
        pairs = zip(self.cone.centred().interior, self._rows.columns, strict=True)
        entries = [entry / column.unit for entry, column in pairs]
        largest = max(map(abs, entries))
        u = np.array([float(entry / largest) for entry in entries])
        margins = self.margins(u[None])
        return np.asarray(u / margins[margins > 0].min(initial=np.inf)) if margins.any() else u

    def margins(self, theta: FloatArray) -> FloatArray:
        """Return the predictors of θ (T, d) in certain rows, towards the outcome: (T, rows)."""
        signed = self._rows.sign[:, None] * self._rows.design
        return np.asarray(theta @ signed[self.certain].T)

    def opens(self, functionals: npt.ArrayLike) -> BoolArray:
        """Return for which a (F, d) there is a direction u with a·u > 0: shape (F,)."""
        rows = np.atleast_2d(np.asarray(functionals, dtype=np.float64))
        rising = [self.cone.rises(self._rows.functional(a)) for a in rows]
        return np.array(rising, dtype=np.bool_)

    def facets(self) -> Iterator[Separation]:
        """Go through the faces of one dimension less, other than {0}."""
        for cone in self.cone.facets(TRIES):
            yield Separation(cone, self._rows)


def separation_of(
    design: FloatArray, successes: npt.ArrayLike, trials: npt.ArrayLike
) -> Separation | None:
    """Find the directions in which no observed outcome becomes impossible.

    Parameters
    ----------
    design : ndarray of shape (n, d)
        Rows x_j of the linear predictor, with the intercept's ones.
    successes, trials : array-like of shape (n,)
        Outcomes; rows without trials say nothing.

    Returns
    -------
    Separation or None
        None if there is no direction but zero: the outcomes overlap, and the design has full rank.

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 2.0, 3.0])
    >>> found = separation_of(np.column_stack([np.ones(4), x]), [0, 0, 1, 1], np.ones(4))
    >>> found.direction, found.certain
    (array([-2.,  1.]), array([ True, False, False,  True]))
    >>> separation_of(np.column_stack([np.ones(4), x]), [1, 0, 1, 1], np.ones(4)) is None
    True
    """
    rows = SignedRows.of(design, np.asarray(successes), np.asarray(trials))
    cone = rows.cone()
    return None if cone is None else Separation(cone, rows)


@dataclass(frozen=True, eq=False)
class FarMember:
    """A member from which the region has no end in any direction of a face.

    Attributes
    ----------
    theta : ndarray of shape (d,)
        The member, as evaluated: certain rows have a probability of exactly 0 or 1.
    face : Separation
        θ plus any direction of this face is a member. For the logistic family this follows from
        the membership of θ, up to rounding of predictors; for others, whose scores have columns
        that depend on θ, it was evaluated at a few lengths.
    """

    theta: FloatArray
    face: Separation


@dataclass(frozen=True, eq=False)
class FarMembers:
    """Where a region has no end.

    Attributes
    ----------
    separation : Separation or None
        Directions that the outcomes allow; None if there are none.
    members : tuple of FarMember
        One for each of the largest faces on which a far member was found.
    evaluations : int
        Number of θ evaluated.
    """

    separation: Separation | None
    members: tuple[FarMember, ...]
    evaluations: int
    _rows: SignedRows = field(repr=False)

    @cached_property
    def status(self) -> str:
        """What is known: the region is "unbounded", "bounded", or "unknown", to be searched.

        Bounded is proven. Unknown are regions that outcomes would leave unbounded, but for which no
        far member was found; and those that rounding errors alone keep bounded.
        """
        if self.members:
            return "unbounded"
        axes = np.eye(self._rows.design.shape[1])
        return "bounded" if self.with_end(np.vstack([axes, -axes])).all() else "unknown"

    def without_end(self, functionals: npt.ArrayLike) -> BoolArray:
        """Return for which a (F, d) a·θ has no upper end over the region: shape (F,).

        The lower end of a·θ is the upper end of -a·θ with its sign reversed.
        """
        found = np.zeros(len(np.atleast_2d(functionals)), dtype=np.bool_)
        for member in self.members:
            found |= member.face.opens(functionals)
        return found

    def with_end(self, functionals: npt.ArrayLike) -> BoolArray:
        """Return for which a (F, d) a·θ has an upper end over the region, by proof: shape (F,).

        It has one if no direction opens it, and none would without a few rounding errors.
        """
        rows = np.atleast_2d(np.asarray(functionals, dtype=np.float64))
        closed = np.ones(len(rows), dtype=np.bool_)
        if self.separation is not None:
            closed = ~self.separation.opens(rows)
        for which in np.flatnonzero(closed):
            closed[which] = not self._rows.nearly_opens(rows[which])
        return closed


def far_members(fitted: FittedRegion, inside: Membership | None = None) -> FarMembers | None:
    """Find where a region has no end; None where separation does not tell.

    That is so for families that are not linear in θ, and where rank m is accepted, which θ have
    that make observed outcomes impossible.

    Faces are searched from the largest down, since whatever a face implies, a larger one implies
    too. The search uses no random number of the user's: it depends on data and membership alone.

    Parameters
    ----------
    fitted : FittedRegion
        The fit.
    inside : callable, optional
        θ (T, d) to numbers (T,) that are positive for members, depths for example; the joint region
        by default. No θ that makes an observed outcome impossible may be a member.
    """
    sample, classes = fitted.sample, _limits(fitted)
    known = classes is not None or fitted.is_linear
    if not known or (inside is None and fitted.accepted.high == fitted.accepted.m):
        return None
    rows, cone = fitted.cached("separation", lambda: _rows_and_cone(fitted, classes))
    if cone is None:
        return FarMembers(None, (), 0, rows)
    separation = Separation(cone, rows)
    found = inside or _membership(fitted)
    search: _Search | _ClassSearch = _Search(fitted.model, sample, found)
    if classes is not None:
        search = _ClassSearch(fitted.start, found)
    members: list[FarMember] = []
    faces, seen = [separation], {cone.positive.tobytes()}
    for _ in range(FACES):
        if not faces:
            break
        face = faces.pop(0)
        if any(member.face.cone.holds(face.cone) for member in members):
            continue
        theta = search.on(face)
        if theta is not None:
            members.append(FarMember(theta, face))
            continue
        for facet in face.facets():
            key = facet.cone.positive.tobytes()
            if key not in seen:
                seen.add(key)
                faces.append(facet)
    return FarMembers(separation, tuple(members), search.evaluations, rows)


def _limits(fitted: FittedRegion) -> FloatArray | None:
    """Return what outcomes of several classes say of directions; None for other families."""
    if not isinstance(fitted.model, ClassModel):
        return None
    inputs = fitted.sample.inputs.original
    codes = fitted.sample.codes[inputs.order]
    return fitted.model.limits_on_directions(inputs.matrix, codes)


def _rows_and_cone(
    fitted: FittedRegion, classes: FloatArray | None
) -> tuple[SignedRows, Cone | None]:
    if classes is not None:
        rows = SignedRows.of(classes, *np.ones((2, len(classes)), dtype=np.int64))
        return rows, rows.cone()
    # where some rows overlap, all do
    samples = (
        [fitted.sample] if fitted.many_rows is None else [few_rows(fitted.sample), fitted.sample]
    )
    for sample in samples:
        design = fitted.model.linear_design(sample.inputs.X)
        assert design is not None
        rows = SignedRows.of(design, sample.successes, sample.inputs.trials)
        cone = rows.cone()
        if cone is None:
            break
    return rows, cone


def _membership(fitted: FittedRegion) -> Membership:
    depth = Depth(fitted.accepted, fitted.n_parameters)
    ranks = fitted.rank_function()
    return lambda theta: depth(ranks(theta)[0])


class _ClassSearch:
    """Looks for far members of a family of several classes, around its likely parameters."""

    def __init__(self, window: Window, inside: Membership) -> None:
        self.window, self.inside = window, inside
        self.evaluations = 0

    def on(self, face: Separation) -> FloatArray | None:
        """Return a far member (d,) on a face, from which multiples of its direction lead on."""
        u, d = face.direction, len(self.window.origin)
        slope = face.margins(u[None])[0]
        if (slope <= 0).any():  # positive before it was rounded
            return None
        steps = np.random.default_rng(0).standard_normal((WIDE_POINTS, d))
        for start in (np.zeros((1, d)), 0.5 * steps, 2.0 * steps):
            near = self.window.theta(start)
            s = (FIRST_PREDICTOR - face.margins(near)) / slope
            far = near + s.max(axis=1, initial=FIRST_PREDICTOR)[:, None] * u
            for member in far[self._are_members(far)]:
                farther = member + (FIRST_PREDICTOR * FARTHER)[:, None] * u
                if self._are_members(farther).all():
                    return np.asarray(member)
        return None

    def _are_members(self, theta: FloatArray) -> BoolArray:
        self.evaluations += len(theta)
        return np.asarray(self.inside(theta) > 0)


class _Search:
    """Looks for far members on faces, and counts the θ evaluated."""

    def __init__(self, model: Model, sample: Sample, inside: Membership) -> None:
        self.model, self.sample, self.inside = model, sample, inside
        self.evaluations = 0

    def on(self, face: Separation) -> FloatArray | None:
        """Return a far member (d,) on a face.

        It is searched around the θ₀ that is likely in view of the rows in J₀. Without such rows
        all data sets are equal far out, and one evaluation decides.
        """
        columns = face.cone.fixed_columns
        if not columns:
            d = self.model.n_parameters(self.sample.inputs.X)
            return self.first_member(face, np.zeros((1, d)))[0]
        rows = self.sample.inputs.order[face.undecided]
        part, d = self.sample.part(rows), self.model.n_parameters(self.sample.inputs.X)
        model = Restricted(self.model, np.zeros(d), np.eye(d)[:, columns])
        window = window_at(model, part, likely_parameters(model, part))
        member: FloatArray | None = None
        best, deepest = np.zeros((1, len(columns))), -np.inf
        rng = np.random.default_rng(0)

        def try_at(z: FloatArray) -> bool:
            """Evaluate at coordinates z of the window; return whether one is the best so far."""
            nonlocal member, best, deepest
            member, depths = self.first_member(face, model.theta(window.theta(z)))
            first = int(depths.argmax())
            if depths[first] <= deepest:
                return False
            best, deepest = z[first : first + 1], float(depths[first])
            return True

        try_at(best)
        scale = 1.0
        for _ in range(ROUNDS):
            if member is not None:
                return member
            steps = scale * rng.standard_normal((PROPOSALS, len(columns)))
            scale *= 1.0 if try_at(best + steps) else SHRINK
        for scale in WIDE_SCALES:
            if member is not None:
                return member
            try_at(scale * rng.standard_normal((WIDE_POINTS, len(columns))))
        return member

    def first_member(
        self, face: Separation, start: FloatArray
    ) -> tuple[FloatArray | None, FloatArray]:
        """Return the deepest far member among θ₀ (T, d), and the depths of all far out."""
        depths = np.full(len(start), -np.inf)
        s = self.far_out(face, start)
        usable = np.flatnonzero(np.isfinite(s))
        if not len(usable):
            return None, depths
        far = start[usable] + s[usable, None] * face.direction
        depths[usable] = self.depths(far)
        best = int(depths[usable].argmax())
        first = int(usable[best])
        if not depths[first] > 0:
            return None, depths
        farther = start[first] + (s[first] * FARTHER)[:, None] * face.direction
        if self.is_same(face, start[first], farther) and (self.depths(farther) > 0).all():
            return far[best], depths
        depths[first] = -np.inf
        return None, depths

    def depths(self, theta: FloatArray) -> FloatArray:
        self.evaluations += len(theta)
        return np.asarray(self.inside(theta), dtype=np.float64)

    def far_out(self, face: Separation, start: FloatArray) -> FloatArray:
        """Return s (T,) at which rows are certain at θ₀ + s·u; NaN where there is none."""
        u = face.direction
        slope, value = face.margins(u[None])[0], face.margins(start)
        if (slope <= 0).any():  # positive before it was rounded
            return np.full(len(start), np.nan)
        s = ((FIRST_PREDICTOR - value) / slope).max(axis=1, initial=FIRST_PREDICTOR)
        outcome = self.sample.successes[face.certain] > 0
        for _ in range(DOUBLINGS):
            P = self.model.evaluate(start + s[:, None] * u, self.sample.inputs.X)
            short = (P[:, face.certain] != outcome).any(axis=1)
            if not short.any():
                break
            s = np.where(short, 2 * s, s)
        return np.where(short, np.nan, s)

    def is_same(self, face: Separation, start: FloatArray, far: FloatArray) -> bool:
        """Return whether probabilities in J₀ are far out as they are at θ₀ (d,)."""
        near, *others = self.model.evaluate(np.vstack([start, far]), self.sample.inputs.X)
        return bool((np.abs(near - others)[:, face.undecided] <= DRIFT).all())
