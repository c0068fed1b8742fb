"""Quotients of whole numbers, rounded once.

A value that is rounded once depends on the number that it stands for, and on nothing else: 1/√2 and 3/√18
give the same bits. Values that are equal then tie, and the tie rule decides, not the noise of several
roundings. The low parts are those of Dekker (Numerische Mathematik 18, 1971), correct to about 100 bits.
"""

import numpy as np

from prefmover.execution.jit import kernel


@kernel
def cosine(xy, xx, yy):
    """Return xy / √(xx · yy), for whole numbers below 2^53; NaN where the denominator is 0."""
    square, square_low = _product(xx, yy)
    norm = np.sqrt(square)
    if not norm > 0.0:
        return np.nan
    near, near_low = _product(norm, norm)
    norm_low = ((square - near) - near_low + square_low) / (2.0 * norm)
    value = xy / norm
    back, back_low = _product(value, norm)
    value += ((xy - back) - back_low - value * norm_low) / norm
    return min(1.0, max(-1.0, value))


@kernel
def quotient(high, low, bits, total):
    """Return (high · 2^bits + low) / total, for integers of 63 bits."""
    top, bottom = _halves(high)
    a, b = top * 2.0**bits, bottom * 2.0**bits + np.float64(low)
    sum_high = a + b
    sum_low = b - (sum_high - a) if abs(a) >= abs(b) else a - (sum_high - b)
    t, t_low = _halves(total)
    value = sum_high / t
    back, back_low = _product(value, t)
    return value + (((sum_high - back) - back_low) + sum_low - value * t_low) / t


@kernel
def _halves(whole):
    """Return two floats that add up to an integer."""
    top = np.float64(whole)
    return top, np.float64(whole - np.int64(top))


@kernel
def _product(a, b):
    """Return the product of two floats, and its rounding error."""
    c, d = 134217729.0 * a, 134217729.0 * b  # 2^27 + 1 splits 53 bits into two halves
    a_high, b_high = c - (c - a), d - (d - b)
    a_low, b_low = a - a_high, b - b_high
    product = a * b
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
