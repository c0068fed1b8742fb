"""From the optimum for rounded costs to the optimum for the costs themselves.

The kernel takes integer costs of 40 bits, so other costs are rounded down first. Where some costs are much
larger than others (10¹² for "forbidden" beside .1), that loses the small ones. Two steps make up for it:

1. The prices are computed again along the kernel's tree, from the costs as given, in Python's integers. If
   no cost is below the sum of its two prices, then the tree is optimal for these costs too. It nearly always
   is. Only arcs for which rounding could matter are compared, about as many as the tree has.
2. Otherwise the kernel solves the *residual* problem. Its costs c_ij - f_i - g_j have the same optimal plans.
   Those of the arcs in use are below one unit, so a cycle that improves the plan has no arc of min(n, m)
   units or more. Costs are cut off there, the unit is divided by 2²⁷ or more, and step 1 follows.

The unit shrinks until no cost is rounded. A cost is kept as ``whole * unit + rest``, both exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from prefmover._typing import Floats, Ints
from prefmover.ot.certificate import Prices, may_exceed
from prefmover.ot.problem import WIDE_BITS, common_unit, multiples, units_in

__all__ = ["Basis", "Kernel", "refine"]


class Basis(NamedTuple):
    """A spanning tree that is optimal for integer costs.

    Nodes are the n rows, then the m columns. ``parent`` is -1 at the root, ``flow`` is that between a node
    and its parent, and ``after`` is the next node in a preorder.
    """

    parent: Ints
    after: Ints
    flow: Ints
    f: Ints
    g: Ints
    pivots: int


Kernel = Callable[[npt.NDArray[Any]], Basis]
"""Solves the problem, whose masses it knows, for integer costs."""


def refine(
    basis: Basis, whole: npt.NDArray[Any], unit: float, cost: Floats, kernel: Kernel
) -> tuple[Basis, Prices]:
    """Return a basis that is optimal for ``cost`` (n, m), and its exact prices.

    ``basis`` is that of ``whole``, the costs rounded down to multiples of ``unit``.
    """
    finest = min(unit, common_unit(cost))
    most, pivots = min(cost.shape), basis.pivots
    rest = cost - whole * unit
    f, g = [0] * len(cost), [0] * len(cost.T)
    while True:
        steps = units_in(unit, finest)
        f = [price + x * steps for price, x in zip(f, basis.f.tolist(), strict=True)]
        g = [price + x * steps for price, x in zip(g, basis.g.tolist(), strict=True)]
        whole = whole - basis.f[:, None] - basis.g
        rest = np.where(whole < most, rest, 0.0)
        whole = np.minimum(whole, most)
        more = _prices_of_rests(basis, rest, finest)
        if _are_feasible(more, whole, unit, rest):
            prices = Prices(list(map(add, f, more.f)), list(map(add, g, more.g)), finest)
            return basis._replace(pivots=pivots), prices
        bits = min(WIDE_BITS - most.bit_length(), steps.bit_length() - 1)
        unit = math.ldexp(unit, -bits)
        parts = np.floor(rest / unit)
        rest = rest - parts * unit
        whole = (whole << bits) + parts.astype(np.int64)
        basis = kernel(whole)
        pivots += basis.pivots


def _prices_of_rests(basis: Basis, rest: Floats, finest: float) -> Prices:
    """Return what the rests add to the prices, along the tree from its root."""
    n, nodes = len(rest), np.arange(len(basis.parent))
    root = int(np.argmin(basis.parent))
    above = np.where(nodes == root, n if root < n else 0, basis.parent)  # any arc: the root has none
    arcs = np.where(nodes < n, nodes, above), np.where(nodes < n, above, nodes) - n
    rests, after = multiples(rest[arcs], finest), basis.after.tolist()
    price, parent = [0] * len(nodes), basis.parent.tolist()
    x = after[root]
    while x != root:
        price[x] = rests[x] - price[parent[x]]
        x = after[x]
    return Prices(price[:n], price[n:], finest)


def _are_feasible(prices: Prices, whole: Ints, unit: float, rest: Floats) -> bool:
    """Whether no cost (``whole`` units and a rest) is below the sum of its prices.

    A cycle through the tree has at most min(n, m) rests to subtract, each below one unit. Costs of that many
    units or more need no check.
    """
    near = np.nonzero((whole < min(whole.shape)) & may_exceed(whole * unit + rest, *prices.floats()))
    steps = units_in(unit, prices.unit)
    costs = zip(whole[near].tolist(), multiples(rest[near], prices.unit), strict=True)
    return all(
        units * steps + more >= prices.f[i] + prices.g[j]
        for i, j, (units, more) in zip(near[0].tolist(), near[1].tolist(), costs, strict=True)
    )
