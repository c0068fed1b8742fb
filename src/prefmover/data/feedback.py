"""Explicit ratings and implicit feedback: which of the two a table holds, and what a count is worth.

An *explicit* rating is an opinion on a scale. *Implicit* feedback is what people did: clicks, plays,
purchases, with or without counts. Counts differ by orders of magnitude (1 to 352,698 plays), so they are
damped:

==========  ======================  =================================================
damping     strength of count c     for
==========  ======================  =================================================
``log``     log₂(1 + c)             counts of any size: one event is 1, three are 2
``sqrt``    √c                      the same, with more weight on large counts
``none``    c                       strengths that are good as they are
``binary``  1                       data whose counts mean nothing
==========  ======================  =================================================
"""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass

import numpy as np

from prefmover._typing import Bools, Floats
from prefmover.data.file_options import Damping, Duplicates, Zeros, check_choice
from prefmover.data.scale import Scale
from prefmover.errors import InputError, ZeroRatingsWarning

__all__ = ["Meaning"]

LOG = logging.getLogger(__name__)

MANY_ZEROS = 0.3  # a share of ratings of 0 beyond which they are likely to mean "no rating" ...
TELLING = 100  # ... if there are as many ratings
TIMES = (1e8, 1e14)  # seconds or milliseconds since 1970, from 1973 on


@dataclass(frozen=True, slots=True)
class Meaning:
    """What values stand for: ratings on a scale, or counts with a damping."""

    duplicates: Duplicates
    scale: Scale | None
    damping: Damping | None
    zeros: Zeros | None

    @classmethod
    def checked(
        cls,
        implicit: bool,
        duplicates: Duplicates,
        scale: Scale | None,
        damping: Damping | None,
        zeros: Zeros | None,
    ) -> Meaning:
        """Return the choices of a caller; one that would be ignored is an error."""
        check_choice("duplicates", duplicates, Duplicates, optional=False)
        check_choice("damping", damping, Damping)
        check_choice("zeros", zeros, Zeros)
        if not implicit:
            if damping is not None:
                remedy = "pass feedback='implicit' too if these are counts, or leave it out"
                raise InputError(
                    f"damping={damping!r} is for counts, and these are ratings; {remedy}", argument="damping"
                )
            if scale is not None and scale.implicit:
                raise InputError(
                    "scale= has implicit=True; pass feedback='implicit' instead", argument="scale"
                )
            return cls(duplicates, scale, None, zeros)
        for name, value, why in (
            ("duplicates", None if duplicates == "error" else duplicates, "repeated counts are added up"),
            ("scale", scale, "counts have no scale"),
            ("zeros", zeros if zeros == "rating" else None, "a count of 0 is no interaction"),
        ):
            if value is not None:
                remedy = "leave it out, or pass feedback='explicit' if these are ratings"
                raise InputError(
                    f"{name}= does not go with implicit feedback ({why}); {remedy}", argument=name
                )
        return cls(duplicates, None, damping or "log", "missing")

    @property
    def noun(self) -> str:
        """The name of a value in messages."""
        return "rating" if self.damping is None else "count"

    def kept(self, values: Floats, table: str) -> Bools:
        """Return which values are kept: all, or those that are not 0; many zeros are worth a warning."""
        kept: Bools = values != 0
        n_zeros = len(values) - int(kept.sum())
        if self.zeros == "missing":
            if n_zeros == len(values):
                raise InputError(
                    f"{table}: all {n_zeros:,} {self.noun}s are 0, and 0 means none here; give one above 0"
                )
            if n_zeros:
                LOG.info(
                    "%s: %s of %s rows have a %s of 0 and are dropped",
                    table,
                    f"{n_zeros:,}",
                    f"{len(values):,}",
                    self.noun,
                )
            return kept
        is_large = len(values) >= TELLING and n_zeros > MANY_ZEROS * len(values)
        if self.zeros is None and is_large and len(np.unique(values)) > 2:  # 0 and 1 are a scale, too
            warnings.warn(
                f"{table}: {n_zeros:,} of {len(values):,} ratings ({n_zeros / len(values):.0%}) are 0. If 0 "
                'means that there is no rating, pass zeros="missing" (--zeros missing) to drop them; '
                'zeros="rating" says that it is one',
                ZeroRatingsWarning,
                stacklevel=4,
            )
        return np.ones(len(values), dtype=bool)

    def refuse_times(self, values: Floats, where: str) -> None:
        """Raise an error if a column that was taken by its position alone has times instead of ratings."""
        if self.damping == "binary" or not ((values > TIMES[0]) & (values < TIMES[1])).all():
            return
        remedy = (
            "pass rating= with the position of another column, or feedback='implicit' and damping='binary'"
        )
        raise InputError(
            f"{where}: {values[0]:.0f} looks like a time, not a {self.noun}; {remedy}", argument="rating"
        )
