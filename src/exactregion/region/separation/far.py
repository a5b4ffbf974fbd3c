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

C and its faces are computed in exact arithmetic (`separation.directions`).
With several classes there is a row for each class that an outcome is not, and the same conclusions:
along u that class becomes impossible where the row is positive. Far members are only searched then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.models import ClassModel
from exactregion.models.base import Model
from exactregion.models.restricted import Restricted
from exactregion.region.fitted import FittedRegion
from exactregion.region.rays import Depth
from exactregion.region.scoring import few_rows
from exactregion.region.separation.directions import Separation, SignedRows
from exactregion.region.window import Membership, Window, likely_parameters, window_at

__all__ = ["FarMember", "FarMembers", "far_members"]

FACES = 40
"""Most faces on which far members are looked for. With one slope there are three at most. More than
the first are needed where the outcomes fit badly or, with probability 1 - q/m, by the seat."""

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
class FarMember:
    """A member (d,) from which the region has no end in any direction of a face.

    Its certain rows have a probability of exactly 0 or 1. That θ plus any direction of the face is
    a member follows for the logistic family, up to rounding of predictors. For others, whose scores
    have columns that depend on θ, it was evaluated at a few lengths.
    """

    theta: FloatArray
    face: Separation


@dataclass(frozen=True, eq=False)
class FarMembers:
    """Where a region has no end."""

    separation: Separation | None  # directions that the outcomes allow, if there are any
    members: tuple[FarMember, ...]  # one for each of the largest faces that have one
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

    The region is that of the members that `inside` tells, which must make no observed outcome
    impossible; by default the joint one. Faces are searched from the largest down, since whatever a
    face implies, a larger one implies too. The search depends on data and membership alone: its
    random numbers are always the same.
    """
    if inside is None and fitted.accepted.high == fitted.accepted.m:
        return None
    read = fitted.cached("separation", lambda: _rows_and_separation(fitted))
    if read is None:
        return None
    rows, separation = read
    if separation is None:
        return FarMembers(None, (), 0, rows)
    found = inside or _membership(fitted)
    search: _LinearSearch | _ClassSearch = _LinearSearch(found, fitted.model, fitted.sample)
    if isinstance(fitted.model, ClassModel):
        search = _ClassSearch(found, fitted.start)
    members: list[FarMember] = []
    faces, seen = [separation], {separation.cone.positive.tobytes()}
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


def _rows_and_separation(fitted: FittedRegion) -> tuple[SignedRows, Separation | None] | None:
    """Read what the outcomes say of directions; None for families in which they say nothing."""
    model, sample = fitted.model, fitted.sample
    if isinstance(model, ClassModel):
        original = sample.inputs.original
        limits = model.limits_on_directions(original.matrix, sample.codes[original.order])
        ones = np.ones(0 if limits is None else len(limits), dtype=np.int64)
        return None if limits is None else _separated(limits, ones, ones)
    if not fitted.is_linear:
        return None
    # where some of many rows overlap, all do
    parts = [sample] if fitted.many_rows is None else [few_rows(sample), sample]
    for part in parts:
        design = model.linear_design(part.inputs.X)
        assert design is not None
        found = _separated(design, part.successes, part.inputs.trials)
        if found[1] is None:
            break
    return found


def _separated(
    design: FloatArray, successes: IntArray, trials: IntArray
) -> tuple[SignedRows, Separation | None]:
    rows = SignedRows.of(design, successes, trials)
    cone = rows.cone()
    return rows, None if cone is None else Separation(cone, rows)


def _membership(fitted: FittedRegion) -> Membership:
    depth = Depth(fitted.accepted, fitted.n_parameters)
    ranks = fitted.rank_function()
    return lambda theta: depth(ranks(theta)[0])


@dataclass(eq=False)
class _FaceSearch:
    """Looks for far members on faces, and counts the θ evaluated."""

    inside: Membership
    evaluations: int = field(default=0, init=False)

    def depths(self, theta: FloatArray) -> FloatArray:
        self.evaluations += len(theta)
        return np.asarray(self.inside(theta), dtype=np.float64)


@dataclass(eq=False)
class _ClassSearch(_FaceSearch):
    """The search in a family of several classes, around its likely parameters."""

    window: Window

    def on(self, face: Separation) -> FloatArray | None:
        """Return a far member (d,) on a face, from which multiples of its direction lead on."""
        u, d = face.direction, len(self.window.origin)
        steps = np.random.default_rng(0).standard_normal((WIDE_POINTS, d))
        for start in (np.zeros((1, d)), 0.5 * steps, 2.0 * steps):
            near = self.window.theta(start)
            s = _lengths(face, near)
            if s is None:
                return None
            far = near + s[:, None] * u
            for member in far[self.depths(far) > 0]:
                farther = member + (FIRST_PREDICTOR * FARTHER)[:, None] * u
                if (self.depths(farther) > 0).all():
                    return np.asarray(member)
        return None


@dataclass(eq=False)
class _LinearSearch(_FaceSearch):
    """The search in a family with a linear predictor."""

    model: Model
    sample: Sample

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

    def far_out(self, face: Separation, start: FloatArray) -> FloatArray:
        """Return s (T,) at which rows are certain at θ₀ + s·u; NaN where there is none."""
        s = _lengths(face, start)
        if s is None:
            return np.full(len(start), np.nan)
        outcome = self.sample.successes[face.certain] > 0
        for _ in range(DOUBLINGS):
            far = start + s[:, None] * face.direction
            P = self.model.evaluate(far, self.sample.inputs.X)
            short = (P[:, face.certain] != outcome).any(axis=1)
            if not short.any():
                break
            s = np.where(short, 2 * s, s)
        return np.where(short, np.nan, s)

    def is_same(self, face: Separation, start: FloatArray, far: FloatArray) -> bool:
        """Return whether probabilities in J₀ are far out as they are at θ₀ (d,)."""
        near, *others = self.model.evaluate(np.vstack([start, far]), self.sample.inputs.X)
        return bool((np.abs(near - others)[:, face.undecided] <= DRIFT).all())


def _lengths(face: Separation, start: FloatArray) -> FloatArray | None:
    """Return s (T,) at which certain rows of θ₀ + s·u have a predictor of `FIRST_PREDICTOR`."""
    slope = face.margins(face.direction[None])[0]
    if (slope <= 0).any():  # u was rounded to a direction in which they do not become certain
        return None
    s = (FIRST_PREDICTOR - face.margins(start)) / slope
    return np.asarray(s.max(axis=1, initial=FIRST_PREDICTOR))
