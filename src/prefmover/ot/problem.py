"""A transport problem in integers."""

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.errors import InputError

__all__ = ["TransportProblem"]

MASS_LIMIT = 2**62
ROUNDED_MASS = 2**52
NARROW_BITS = 26  # costs that fit go through the 32-bit kernel
WIDE_BITS = 50  # of other costs, at most: their sums with prices are exact as floats, too
ROOM_BITS = 59  # of costs times the length of a path: prices fit 64 bits
LARGEST_COST = 1e300  # sums of costs must be finite
SMALLEST_EXPONENT = -1074  # of any floating-point number


@dataclass(frozen=True, slots=True, eq=False)
class TransportProblem:
    """Masses p (n) and q (m) with equal sums, and the cost (n, m) of moving a unit from i to j.

    Attributes
    ----------
    p, q
        Integer masses, Σp = Σq = ``total``.
    whole
        Integer costs in units of ``unit``, rounded down: int32, or int64 if they need more than 26 bits. An
        infinite cost is a number so large that no plan uses it if there is another plan.
    unit
        A power of two.
    cost
        The original costs, or None if they are exactly ``whole * unit``, and finite.
    same
        Pairs (row, column) that are the same point, in a cost that obeys the triangle inequality: mass
        that both have stays where it is.
    """

    p: Ints
    q: Ints
    whole: npt.NDArray[np.signedinteger[Any]]
    unit: float
    cost: Floats | None = None
    same: tuple[Ints, Ints] | None = None

    def __post_init__(self) -> None:
        # The kernels rely on these checks.
        if self.whole.shape != (self.p.size, self.q.size):
            raise InputError(
                f"costs of shape {self.whole.shape} do not fit {self.p.size} x {self.q.size} masses"
            )
        bits = NARROW_BITS if self.whole.dtype == np.int32 else room_bits(self.whole.shape)
        if self.whole.min(initial=0) < 0 or self.whole.max(initial=0) > 2**bits:
            raise InputError(f"a cost is not an integer from 0 to 2^{bits}")
        if self.p.min(initial=0) < 0 or self.q.min(initial=0) < 0:
            raise InputError("a mass is negative")
        if not 0 < self.total == int(self.q.sum()) < MASS_LIMIT:
            raise InputError(
                f"the masses p and q add up to {self.total} and {self.q.sum()}; expected one positive "
                "number below 2^62"
            )

    @property
    def total(self) -> int:
        """The mass to move."""
        return int(self.p.sum())

    @property
    def costs(self) -> Floats:
        """The costs as floats."""
        if self.cost is not None:
            return self.cost
        numbers: Floats = np.multiply(self.whole, self.unit, dtype=np.float64)
        return numbers

    @classmethod
    def from_arrays(cls, p: npt.ArrayLike, q: npt.ArrayLike, cost: npt.ArrayLike) -> Self:
        """Return the problem of two lists of masses, each normalized to 1, and a matrix of costs.

        Integer masses are exact. Other masses are rounded to multiples of 2⁻⁵² of their sum, with
        the largest remainders rounded up, so that both sums are exact. For costs see
        :func:`~prefmover.ot.transport`.
        """
        whole_p, whole_q = _balance(_masses("p", p), _masses("q", q))
        c = np.asarray(cost)
        if c.dtype.kind not in "fiub":
            raise InputError(f"cost must be real numbers, not {c.dtype}")
        if c.shape != (whole_p.size, whole_q.size):
            raise InputError(
                f"cost has shape {c.shape}; p and q have {whole_p.size} and {whole_q.size} entries"
            )
        c = c.astype(np.float64)
        allowed = c < np.inf
        good = (c >= 0) & (c <= LARGEST_COST) | (c == np.inf)
        if not good.all():
            i, j = np.argwhere(~good)[0]
            raise InputError(
                f"cost[{i}, {j}] is {c[i, j]}; costs must be from 0 to {LARGEST_COST:g}, or inf if forbidden"
            )
        whole, unit = _whole_costs(np.where(allowed, c, 0.0), is_narrow=bool(allowed.all()))
        is_exact = np.array_equal(whole * unit, c)
        if not allowed.all():
            # On a cycle that takes mass off a forbidden arc, at most min(n, m) arcs get more.
            whole[~allowed] = min(c.shape) * int(whole.max()) + 1
        return cls(whole_p, whole_q, whole, unit, None if is_exact else c)


def _masses(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    mass = np.asarray(values)
    if mass.ndim != 1 or mass.size == 0 or mass.dtype.kind not in "fiub":
        raise InputError(f"{name} must be a list of masses, not {mass.dtype} of shape {mass.shape}")
    if not np.isfinite(mass).all() or (mass < 0).any():
        i = int(np.flatnonzero(~np.isfinite(mass) | (mass < 0))[0])
        raise InputError(f"{name}[{i}] is {mass[i]}; masses must be finite and not negative")
    if not (mass > 0).any():
        raise InputError(f"all masses of {name} are zero; there is nothing to move")
    return mass


def _balance(p: npt.NDArray[Any], q: npt.NDArray[Any]) -> tuple[Ints, Ints]:
    """Return both as integers with one sum: exactly if they are integers and the sum fits."""
    if p.dtype.kind != "f" and q.dtype.kind != "f":
        sum_p, sum_q = sum(map(int, p)), sum(map(int, q))
        common = math.gcd(sum_p, sum_q)
        if sum_p // common * sum_q < MASS_LIMIT:
            return p.astype(np.int64) * (sum_q // common), q.astype(np.int64) * (sum_p // common)
    return _rounded(p), _rounded(q)


def _rounded(mass: npt.NDArray[Any]) -> Ints:
    share = mass.astype(np.float64) / float(mass.max())
    share *= ROUNDED_MASS / math.fsum(share)
    floors = np.floor(share).astype(np.int64)
    missing = ROUNDED_MASS - int(floors.sum())
    # Rounding errors may shift the floors by a few units; the largest masses absorb them.
    order = np.lexsort((-floors, floors - share)) if missing > 0 else np.argsort(-floors, kind="stable")
    floors[order[: abs(missing)]] += 1 if missing > 0 else -1
    return floors


def room_bits(shape: tuple[int, ...]) -> int:
    """Return the bits that 64-bit costs may have: a price adds up the costs of a path through all nodes."""
    return ROOM_BITS - sum(shape).bit_length()


def _whole_costs(cost: Floats, is_narrow: bool) -> tuple[npt.NDArray[np.signedinteger[Any]], float]:
    """Return finite costs rounded down to whole units, and the unit; without ``is_narrow`` in 64 bits."""
    top = math.frexp(float(cost.max()))[1]
    if is_narrow:
        exponent = max(top - NARROW_BITS, SMALLEST_EXPONENT)
        steps = np.ldexp(cost, -exponent)
        narrow = steps.astype(np.int32)
        if (narrow == steps).all():
            return narrow, math.ldexp(1.0, exponent)
    bits = room_bits(cost.shape) - (0 if is_narrow else min(cost.shape).bit_length())
    exponent = max(top - min(WIDE_BITS, bits), SMALLEST_EXPONENT)
    return np.ldexp(cost, -exponent).astype(np.int64), math.ldexp(1.0, exponent)
