"""Accuracy on MovieLens-100K: the default predictor, its controls, and what people would use instead.

MAE and RMSE on held-out ratings, train shares .1, .3, .5 and .8, several seeds, the same splits for all.
Nothing is chosen on these data: prefmover's defaults were fixed on users of MovieLens-1M
(docs/guide/predictions.md), Surprise runs with its own defaults.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover.data.splits import Split, random_split
from prefmover.measures import Measure
from prefmover.measures.pmd import distances
from prefmover.model.user_knn import KERNEL_WEIGHT, UserKNN
from prefmover.predict import Centering, Shared

SHARES = (0.1, 0.3, 0.5, 0.8)
OURS = "UserKNN()"


def ours(split: Split, geometry: Any, jobs: int | None) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the default, its controls and the paper's predictor; users are compared once for all."""
    D = distances(split.train, geometry, n_jobs=jobs)
    pmd = Measure.from_matrix("pmd-known", D, split.train.users, larger_is_closer=False)

    def model(**settings: Any) -> Callable[[], Any]:
        def predict() -> Any:
            fitted = UserKNN(pmd, n_jobs=jobs, **settings).fit(split.train, geometry)
            return fitted.predictor_.answer(split.users, split.items).values

        return predict

    yield OURS, model(weight=KERNEL_WEIGHT)
    yield "the same, uniform weights", model(weight="exponential(0)")
    yield "the same, no neighbors", model(weight=KERNEL_WEIGHT, shared=Shared(lending=0, neighbors=0))
    uniform = {"predictor": "average", "weight": "exponential(0)", "k": split.train.n_users}
    yield "bias + uniform weights, all raters", model(**uniform, shrinkage=1.0)
    yield "bias", lambda: Centering.of(split.train, "baseline").base(split.users, split.items)
    yield "UserKNN.paper()", model(predictor="average", centering="mean", weight="exponential(4)")


def peers(split: Split, seed: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield Surprise's algorithms, with their defaults."""
    import surprise

    frame = split.train.to_frame()
    rows = list(zip(*(frame[c].to_pylist() for c in ("user", "item", "rating")), strict=True))
    reader = surprise.Reader(rating_scale=(split.train.scale.lowest, split.train.scale.highest))
    data = surprise.Dataset(reader)
    train = data.construct_trainset([(u, i, r, None) for u, i, r in rows])
    users, items = split.train.users[split.users].tolist(), split.train.items[split.items].tolist()

    def fitted(algorithm: Any) -> Callable[[], Any]:
        def predict() -> Any:
            algorithm.fit(train)
            return np.array([algorithm.predict(u, i).est for u, i in zip(users, items, strict=True)])

        return predict

    yield "Surprise SVD", fitted(surprise.SVD(random_state=seed))
    yield "Surprise SVD++", fitted(surprise.SVDpp(random_state=seed))
    yield "Surprise KNNBaseline", fitted(surprise.KNNBaseline(verbose=False))
    yield "Surprise KNNWithMeans", fitted(surprise.KNNWithMeans(verbose=False))
    yield "Surprise BaselineOnly", fitted(surprise.BaselineOnly(verbose=False))


def errors(predicted: Any, split: Split) -> tuple[float, float]:
    scale = split.train.scale
    e = np.clip(predicted, scale.lowest, scale.highest) - split.ratings
    return float(np.abs(e).mean()), float(np.sqrt((e * e).mean()))


def main() -> None:
    options = arguments(__doc__, datasets=["ml-100k"], seeds=3, jobs=0)
    parts = []
    for name in options.datasets:
        data = dataset(name)
        found: dict[str, dict[float, list[tuple[float, float]]]] = {}
        for share in SHARES:
            for seed in range(options.seeds):
                split = random_split(data.ratings, share, seed)
                runs = [*ours(split, data.geometry, options.jobs or None), *peers(split, seed)]
                for who, predict in runs:
                    start = time.perf_counter()
                    result = errors(predict(), split)
                    found.setdefault(who, {}).setdefault(share, []).append(result)
                    seconds = time.perf_counter() - start
                    print(
                        f"{share} {seed} {who}: {result[0]:.4f} {result[1]:.4f} ({seconds:.1f} s)", flush=True
                    )
        lines = []
        for who, by_share in found.items():
            cells = [np.mean(by_share[share], axis=0) for share in SHARES]
            lines.append([who, *(f"{mae:.4f} / {rmse:.4f}" for mae, rmse in cells)])
        behind = [
            who
            for who, by_share in found.items()
            for share in SHARES
            for mine, theirs in zip(found[OURS][share], by_share[share], strict=True)
            if who != OURS and theirs[0] <= mine[0]
        ]
        verdict = (
            "The default has the lowest MAE on every split."
            if not behind
            else f"The default does not have the lowest MAE on every split: {sorted(set(behind))}."
        )
        parts += [
            f"### {name}: MAE / RMSE, mean of {options.seeds} random splits",
            f"Item geometry: {data.geometry.name}. {verdict}",
            table(["train share", *map(str, SHARES)], lines),
        ]
    publish("accuracy", "Accuracy", parts, options)


if __name__ == "__main__":
    main()
