"""Compiled loops that draw outcomes: labels, labels that a window leaves free, and classes.

All of them use the random numbers of NumPy's SFC64, in the order in which NumPy gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion.features.compilation import compiled, inlined

__all__ = [
    "LANES",
    "ROWS_PER_CODE",
    "add_values",
    "draw_classes",
    "draw_codes",
    "draw_counts",
    "draw_known",
    "draw_labels",
    "flip_free",
    "list_free",
    "number_below",
    "room_for",
    "sorted_by_row",
    "spread_codes",
    "state_of",
    "thresholds_of",
    "weigh",
    "write_scaled",
]


FEW = 40
"""So many numbers are sorted by insertion: quicker than a general sort."""

LANES = 16
"""Blocks whose labels are drawn side by side, those of a chunk. One generator waits for itself at
every number; sixteen of them keep vector units busy, and take a third of the time."""

TILE = 512
"""Rows that are weighted at once: what they are multiplied by stays in the nearest cache."""

ROWS_PER_CODE = 4
"""Rows whose labels make up a code: the states of the generators stay in registers for so long."""


def thresholds_of(p: Any) -> Any:
    """⌈2⁵³ p⌉, exactly."""
    return np.ceil(p * 2.0**53).astype(np.int64)


def state_of(generator: np.random.Generator) -> Any:
    """Copy the state of a generator, which these loops advance instead of the generator: (4,)."""
    return generator.bit_generator.state["state"]["state"].copy()


@inlined
def _next(a: Any, b: Any, c: Any, count: Any) -> Any:
    """Return the next number of SFC64, and its state after that."""
    x = a + b + count
    rotated = (c << np.uint64(24)) | (c >> np.uint64(40))
    return x, b ^ (b >> np.uint64(11)), c + (c << np.uint64(3)), rotated + x, count + np.uint64(1)


@compiled
def _draw(state: Any, numbers: Any) -> None:
    """Fill in the 53 leading bits of random numbers, and advance the state of SFC64.

    NumPy's uniforms are these numbers divided by 2⁵³. So U < p is the same as number < ⌈2⁵³ p⌉, and
    the uniforms need not be made. Comparisons are left to other loops: one that does nothing but
    draw is four times as fast.
    """
    a, b, c, count = state[0], state[1], state[2], state[3]
    for j in range(len(numbers)):
        x, a, b, c, count = _next(a, b, c, count)
        numbers[j] = np.int64(x >> np.uint64(11))
    state[0], state[1], state[2], state[3] = a, b, c, count


@compiled
def _copy(values: Any, out: Any) -> None:
    """Copy one by one: a check that lengths agree, with its message, takes 2 s to compile."""
    for j in range(len(values)):
        out[j] = values[j]


@compiled
def draw_labels(state: Any, thresholds: Any, observed: Any, seat: int, K: Any) -> None:
    """Fill the labels K (q, b) of q data sets, row after row.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it is advanced.
    thresholds : ndarray of shape (b,)
        A label is 1 where the random number is below; see `thresholds_of`.
    observed : ndarray of shape (b,)
        Labels of the original.
    seat : int
        The original's row in K, or -1.
    K : ndarray of shape (q, b)
        Where the labels go.
    """
    numbers = np.empty(K.shape[1], dtype=np.int64)
    for i in range(K.shape[0]):
        if i == seat:
            _copy(observed, K[i])
            continue
        _draw(state, numbers)
        for j in range(K.shape[1]):
            K[i, j] = numbers[j] < thresholds[j]


@compiled
def draw_counts(
    state: Any, columns: Any, thresholds: Any, observed: Any, seat: int, K: Any
) -> None:
    """Fill the successes K (q, b) of rows with several trials, as `draw_labels` does for labels.

    `columns` (b + 1,) says where the thresholds of each row begin: its successes are the number of
    thresholds above its random number.
    """
    numbers = np.empty(K.shape[1], dtype=np.int64)
    for i in range(K.shape[0]):
        if i == seat:
            _copy(observed, K[i])
            continue
        _draw(state, numbers)
        for j in range(K.shape[1]):
            successes = 0
            for column in range(columns[j], columns[j + 1]):
                successes += numbers[j] < thresholds[column]
            K[i, j] = successes


@compiled
def draw_codes(states: Any, thresholds: Any, seat: int, codes: Any) -> None:
    """Draw the labels of `LANES` blocks of b rows each, those of the same four rows as one number.

    They are what `draw_labels` draws with the generator of each block. Constants instead of shapes
    let the compiler see that lanes do not touch each other.

    Parameters
    ----------
    states : ndarray of shape (64,), unsigned
        Numbers a, b, c and count of the generators' states, each for all lanes; they are advanced.
    thresholds : ndarray of shape (16 b,)
        As for `draw_labels`: row after row, each for all lanes.
    seat : int
        The data set of the original, which is not drawn.
    codes : ndarray of shape (16, m, b / 4), of bytes
        Where the labels go: bit k is that of the k-th of four rows.
    """
    eleven = np.uint64(11)
    fours = codes.shape[2]
    drawn = np.empty(16 * fours, dtype=np.uint8)
    for i in range(codes.shape[1]):
        if i == seat:
            continue
        for j in range(fours):
            for lane in range(16):
                a, b = states[lane], states[16 + lane]
                c, count = states[32 + lane], states[48 + lane]
                code = np.uint8(0)
                for k in range(4):
                    x, a, b, c, count = _next(a, b, c, count)
                    below = np.int64(x >> eleven) < thresholds[64 * j + 16 * k + lane]
                    code |= np.uint8(below) << np.uint8(k)
                states[lane], states[16 + lane] = a, b
                states[32 + lane], states[48 + lane] = c, count
                drawn[16 * j + lane] = code
        for lane in range(16):
            for j in range(fours):
                codes[lane, i, j] = drawn[16 * j + lane]


LABELS_OF_CODES = ((np.arange(16)[:, None] >> np.arange(4)) & 1).astype(np.float32)
"""The four labels of each code."""


def spread_codes(codes: Any, K: Any) -> None:
    """Fill labels K (q, b), in single precision, by the codes (q, b / 4) of a block."""
    # four labels are as long as one complex number, which is copied at once
    _look_up(LABELS_OF_CODES.view(np.complex128)[:, 0], codes, K.view(np.complex128))


@compiled
def _look_up(values: Any, codes: Any, out: Any) -> None:
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            out[i, j] = values[codes[i, j]]


@compiled
def draw_classes(state: Any, thresholds: Any, observed: Any, seat: int, codes: Any) -> None:
    """Fill the classes (m, b) of m data sets, row after row, as `draw_labels` does for two classes.

    Parameters
    ----------
    thresholds : ndarray of shape (b, C - 1)
        P(class ≥ 1) ≥ … ≥ P(class ≥ C - 1) of each row, as `thresholds_of` gives them. A class is
        the number of thresholds above the random number of its row.
    state, observed, seat, codes
        As for `draw_labels`.
    """
    numbers = np.empty(codes.shape[1], dtype=np.int64)
    for i in range(codes.shape[0]):
        if i == seat:
            _copy(observed, codes[i])
            continue
        _draw(state, numbers)
        for j in range(codes.shape[1]):
            low, high = 0, thresholds.shape[1]
            while low < high:
                middle = (low + high) // 2
                if numbers[j] < thresholds[j, middle]:
                    low = middle + 1
                else:
                    high = middle
            codes[i, j] = low


@compiled
def add_values(codes: Any, values: Any, totals: Any) -> None:
    """Add the values (b, C, s) of the classes (m, b) of each data set to `totals` (m, s)."""
    for i in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            for k in range(values.shape[2]):
                totals[i, k] += values[j, codes[i, j], k]


def room_for(number: int) -> tuple[Any, Any, Any]:
    """Make room for rows, uniforms and data sets of as many free labels."""
    return np.empty(number, np.int32), np.empty(number), np.empty(number, np.int32)


@compiled
def draw_known(
    state: Any,
    columns: Any,
    low: Any,
    middle: Any,
    high: Any,
    observed: Any,
    first: int,
    seat: int,
    K: Any,
    free_row: Any,
    free_uniform: Any,
    free_owner: Any,
) -> int:
    """Fill the known successes K (q, b) of data sets first, first + 1, …, and list free labels.

    A uniform below the limits [low, high) of a column is a success, one within them is free. Of a
    row with one column it counts as a success if it is below the middle; what other free uniforms
    decide is left out of K. Returns the number of free labels.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it is advanced, as by `draw_labels`.
    columns : ndarray of shape (b + 1,)
        Where the columns of each row begin.
    low, middle, high : ndarrays
        Limits of these columns, and thresholds between them, as `thresholds_of` gives them.
    observed : ndarray of shape (b,)
        Successes of the original, which is data set `seat`.
    K : ndarray of shape (q, b)
        Where the successes go.
    free_row, free_uniform, free_owner : ndarrays
        Where free labels go; one per uniform at most.
    """
    b = K.shape[1]
    numbers = np.empty(b, dtype=np.int64)
    is_free = np.zeros((b + 7) // 8 * 8, dtype=np.uint8)
    eights = is_free.view(np.uint64)  # most are zero, and are passed over eight at a time
    labels = len(low) == b and (columns[1:] - columns[:-1] == 1).all()
    number = 0
    for i in range(K.shape[0]):
        if first + i == seat:
            _copy(observed, K[i])
            continue
        _draw(state, numbers)
        if labels:
            for j in range(b):
                K[i, j] = numbers[j] < middle[j]
            for j in range(b):
                is_free[j] = (numbers[j] >= low[j]) & (numbers[j] < high[j])
        else:
            for j in range(b):
                successes, free = 0, False
                for column in range(columns[j], columns[j + 1]):
                    successes += numbers[j] < low[column]
                    free |= (numbers[j] >= low[column]) & (numbers[j] < high[column])
                is_free[j] = free
                K[i, j] = 0 if free else successes
        for eight in range(len(eights)):
            if eights[eight] == 0:
                continue
            for j in range(8 * eight, 8 * eight + 8):
                if is_free[j]:
                    free_row[number], free_owner[number] = j, first + i
                    free_uniform[number] = numbers[j] * 2.0**-53
                    number += 1
    return number


@compiled
def sorted_by_row(b: int, row: Any, uniform: Any, owner: Any) -> Any:
    """Sort the free labels of b rows by row, then by uniform.

    Returns where each row begins (b + 1,), uniforms and data sets.
    """
    first = np.zeros(b + 1, dtype=np.int64)
    for j in row:
        first[j + 1] += 1
    for j in range(b):
        first[j + 1] += first[j]
    end = first.copy()
    uniforms, owners = np.empty_like(uniform), np.empty_like(owner)
    for k in range(len(row)):
        uniforms[end[row[k]]], owners[end[row[k]]] = uniform[k], owner[k]
        end[row[k]] += 1
    for j in range(b):
        start, stop = first[j], first[j + 1]
        if stop - start > FEW:
            order = np.argsort(uniforms[start:stop])
            uniforms[start:stop] = uniforms[start:stop][order]
            owners[start:stop] = owners[start:stop][order]
            continue
        for k in range(start + 1, stop):
            u, i, place = uniforms[k], owners[k], k
            while place > start and uniforms[place - 1] > u:
                uniforms[place], owners[place] = uniforms[place - 1], owners[place - 1]
                place -= 1
            uniforms[place], owners[place] = u, i
    return first, uniforms, owners


@compiled
def list_free(
    states: Any,
    low: Any,
    width: Any,
    middle: Any,
    seat: int,
    codes: Any,
    free_row: Any,
    free_uniform: Any,
    free_owner: Any,
    numbers: Any,
) -> bool:
    """Draw the labels of `LANES` blocks as `draw_codes` does, and list those a window leaves free.

    Parameters
    ----------
    states, seat, codes
        As for `draw_codes`.
    low, width : ndarrays of shape (16 b,)
        A label is free where its random number is at least `low`, and by less than `width` larger,
        which is unsigned: row after row, each for all lanes.
    middle : ndarray of shape (16 b,)
        The thresholds of the labels that are drawn.
    free_row, free_uniform, free_owner : ndarrays of shape (16, capacity)
        Where the free labels of each lane go.
    numbers : ndarray of shape (16,)
        How many there are; it is 0 at first. Returns whether there was room for all.
    """
    eleven = np.uint64(11)
    fours = codes.shape[2]
    drawn, free = np.empty(64, dtype=np.int64), np.zeros(16, dtype=np.int64)
    labels = np.empty(16 * fours, dtype=np.uint8)
    for i in range(codes.shape[1]):
        if i == seat:
            continue
        for j in range(fours):
            any_free = np.int64(0)
            for lane in range(16):
                a, b = states[lane], states[16 + lane]
                c, count = states[32 + lane], states[48 + lane]
                code = np.int64(0)
                for k in range(4):
                    x, a, b, c, count = _next(a, b, c, count)
                    number = np.int64(x >> eleven)
                    drawn[16 * k + lane] = number
                    at = 64 * j + 16 * k + lane
                    above = number - low[at]
                    code |= np.int64(above < 0) << k
                    code |= np.int64(np.uint64(above) < width[at]) << (k + 4)
                states[lane], states[16 + lane] = a, b
                states[32 + lane], states[48 + lane] = c, count
                free[lane] = code
                labels[16 * j + lane] = np.uint8(code & 15)
                any_free |= code
            if any_free < 16:
                continue
            for lane in range(16):
                code = free[lane] >> 4
                if code == 0:
                    continue
                for k in range(4):
                    if (code >> k) & 1:
                        number, at = drawn[16 * k + lane], 64 * j + 16 * k + lane
                        labels[16 * j + lane] |= np.uint8(number < middle[at]) << np.uint8(k)
                        place = numbers[lane]
                        if place == free_row.shape[1]:
                            return False
                        free_row[lane, place], free_owner[lane, place] = 4 * j + k, i
                        free_uniform[lane, place] = number * 2.0**-53
                        numbers[lane] = place + 1
        for lane in range(16):
            for j in range(fours):
                codes[lane, i, j] = labels[16 * j + lane]
    return True


@compiled
def _ends_of(counts: Any) -> Any:
    """Return where the free labels of each row begin, and their number."""
    first = np.zeros(len(counts) + 1, dtype=np.int64)
    for j in range(len(counts)):
        first[j + 1] = first[j] + counts[j]
    return first


@compiled
def number_below(thresholds: Any, rows: Any, counts: Any, uniforms: Any) -> Any:
    """Count the free labels below each threshold (c,) of the rows of a block."""
    first, below = _ends_of(counts), np.empty(len(rows), dtype=counts.dtype)
    for c in range(len(rows)):
        start, stop = first[rows[c]], first[rows[c] + 1]
        place = start
        while place < stop and uniforms[place] < thresholds[c]:
            place += 1
        below[c] = place - start
    return below


@compiled
def flip_free(
    values: Any,
    score: Any,
    rows: Any,
    parent: Any,
    places: Any,
    free: Any,
    guard: Any,
    features: Any,
    steps: Any,
) -> Any:
    """Add to steps (T, m, r) what the free labels of a block change from its parent to each θ.

    One θ after the other, so that its steps stay in the cache. In most rows no label flips between
    neighbours: those where one may are listed first. Where thresholds and uniforms are known but
    for an error, labels that are too close to tell count as failures, and their thresholds are
    returned, as t · c + column.

    Parameters
    ----------
    values : ndarray of shape (T, c)
        Thresholds: the probability of each row that is a label, P(at least 1, …) of counts.
    score : ndarray of shape (c,) or (0,)
        If there are any, thresholds are polynomials of them, and values (T, e) the coefficients.
    rows : ndarray of shape (c,)
        The row of each threshold.
    parent : ndarray of shape (T,)
        From which θ each is reached, as a row of `places`.
    places : ndarray of shape (N, c)
        How many free labels are below each threshold at each θ; filled in for the first T.
    free : tuple of ndarrays
        Of each row the number of free labels; of all free labels the uniforms, in ascending order
        within a row, and the data sets.
    guard : ndarray of shape (c,)
        The error of a threshold and a uniform together, of each column.
    features : ndarray of shape (b, r)
        What a success adds.
    steps : ndarray of shape (T, m, r)
        Where it goes.
    """
    counts, uniforms, owner = free
    r, columns, first = features.shape[1], len(rows), _ends_of(counts)
    starts, place = np.empty(columns, dtype=np.int64), np.empty(columns, dtype=np.int64)
    for c in range(columns):
        starts[c] = first[rows[c]]
    under, over = np.empty(columns), np.empty(columns)  # the uniforms next to the threshold
    value, moves = np.empty(columns), np.empty(columns, dtype=np.uint8)
    moved = np.empty(columns + 1, dtype=np.int64)
    too_close = []
    for t in range(len(steps)):
        if t == 0 or parent[t] != t - 1:
            for c in range(columns):
                start, stop = starts[c], first[rows[c] + 1]
                place[c] = start + places[parent[t], c]
                under[c] = uniforms[place[c] - 1] if place[c] > start else -np.inf
                over[c] = uniforms[place[c]] if place[c] < stop else np.inf
        if len(score):
            for c in range(columns):
                value[c] = values[t, -1]
            for power in range(values.shape[1] - 2, -1, -1):
                for c in range(columns):
                    value[c] = value[c] * score[c] + values[t, power]
        else:
            for c in range(columns):
                value[c] = values[t, c]
        for c in range(columns):
            moves[c] = (value[c] - guard[c] <= under[c]) | (value[c] + guard[c] > over[c])
        number = 0
        for c in range(columns):  # without a branch, which would often be mispredicted
            moved[number] = c
            number += moves[c]
        for c in moved[:number]:
            j = rows[c]
            start, stop = starts[c], first[j + 1]
            new, below = place[c], value[c] - guard[c]
            while new < stop and uniforms[new] < below:
                i = owner[new]
                for a in range(r):
                    steps[t, i, a] += features[j, a]
                new += 1
            while new > start and uniforms[new - 1] >= below:
                new -= 1
                i = owner[new]
                for a in range(r):
                    steps[t, i, a] -= features[j, a]
            place[c] = new
            under[c] = uniforms[new - 1] if new > start else -np.inf
            over[c] = uniforms[new] if new < stop else np.inf
            if over[c] < value[c] + guard[c]:
                too_close.append(t * columns + c)
        for c in range(columns):
            places[t, c] = place[c] - starts[c]
    found = np.empty(len(too_close), dtype=np.int64)
    for k in range(len(found)):
        found[k] = too_close[k]
    return found


@compiled
def weigh(
    P: Any,
    trials: Any,
    precision: float,
    values: Any,
    left: Any,
    right: Any,
    mass: Any,
    products: Any,
) -> None:
    """Fill in what is summed over a block of rows at T candidates, apart from labels.

    Parameters
    ----------
    P : ndarray of shape (T, b)
        Probabilities.
    trials : ndarray of shape (b,)
        Trials as floating-point numbers.
    precision : float
        Expected successes are rounded to 1 / precision, as by `grid.expected_successes`.
    values : ndarray of shape (…, b)
        What is weighted.
    left, right : ndarrays of shape (K,)
        Which two of them are multiplied.
    mass : ndarray of shape (T, b)
        Where the expected successes t p go.
    products : ndarray of shape (T, K, b)
        Where t p (1 - p) times left times right goes, multiplied in this order.
    """
    weight = np.empty(TILE)
    inverse = 1 / precision  # a power of two: to multiply is to divide, and takes less time
    for t in range(P.shape[0]):
        for start in range(0, P.shape[1], TILE):
            # loops get slices, which vector units take
            part = slice(start, min(start + TILE, P.shape[1]))
            p, number, expected = P[t, part], trials[part], mass[t, part]
            for j in range(len(p)):
                successes = number[j] * p[j]
                weight[j] = successes * (1 - p[j])
                expected[j] = np.rint(successes * precision) * inverse
            for k in range(len(left)):
                one, other = values[left[k], part], values[right[k], part]
                product = products[t, k, part]
                for j in range(len(p)):
                    product[j] = (weight[j] * one[j]) * other[j]


@compiled
def write_scaled(multiples: Any, unit: Any, scale: Any, out: Any) -> None:
    """Fill in columns (r, b), which come as multiples (b, r) of units, times their scales (r,)."""
    for a in range(len(unit)):
        for j in range(len(multiples)):
            out[a, j] = (multiples[j, a] * unit[a]) * scale[a]
