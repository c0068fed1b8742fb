"""What each part of the default model adds: the model with the settings that it chose, without the part.

``python -m tools.ablation ml-100k`` reads what the default chose, from ``docs/results/ranking``,
and puts records into ``docs/results/parts``. Nothing is chosen again.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from prefmover import Dataset, Measure, RankingSettings, Recommender
from prefmover.data.splits import random_split
from prefmover.evaluation.baselines.kernel_ridge import DISTANCES
from prefmover.evaluation.folder import RunFolder
from prefmover.evaluation.run import run_experiment
from tools.cells import RESULTS

PARTS: dict[str, dict[str, Any]] = {
    "content": {"features": 0.0},
    "normalization": {"discount": 0.0},
    "kernel ridge over users": {"user_penalty": None},
    "taste factors": {"factors": 0.0},
    "transport": {},
    "transport and geometry of users": {},
}
"""The settings that are changed for each part."""

KERNELS = {"transport": "mean-vector", "transport and geometry of users": "total-variation"}
"""The distances that take the place of PMD in the kernel of users."""


@dataclass
class Without:
    """The default model without a part."""

    part: str
    chosen: Mapping[str, RankingSettings]  # by the digest of the training ratings
    model: Any = None

    def fit(self, data: Dataset) -> None:
        """Fit the model to training ratings for which the default has chosen settings."""
        settings = replace(self.chosen[data.ratings.digest()], **PARTS[self.part])
        measure: Any = "pmd"
        if self.part in KERNELS:
            distances = DISTANCES[KERNELS[self.part]](data, 1)
            measure = Measure.from_matrix(self.part, distances, data.ratings.users, larger_is_closer=False)
        self.model = Recommender(measure, ranking=settings).fit(data, heads=["ranking"])

    def recommend(self, users: list[Any], n: int) -> Any:
        """Return lists for users."""
        return self.model.recommend_many(users, n, reasons=False)


def main() -> None:
    """Compute the records of the data sets that are named."""
    for name in sys.argv[1:]:
        folder = RunFolder(RESULTS / "ranking" / name)
        experiment = folder.content().settings
        data, chosen = experiment.load(), {}
        for one in folder.records().values():
            if one.recommender == "default":
                train = random_split(data.ratings, one.share, one.seed).train
                chosen[train.digest()] = RankingSettings(**one.settings)
        labels = {f"object:without {part}": Without(part, chosen) for part in PARTS}
        run_experiment(
            experiment.model_copy(update={"recommenders": tuple(labels), "trials": 0}),
            RESULTS / "parts" / name, data=data, objects=labels, n_threads=1, tell=print,
        )  # fmt: skip


if __name__ == "__main__":
    main()
