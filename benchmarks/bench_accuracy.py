"""Accuracy on MovieLens-100K: the default model, its controls, and the models that people would use instead.

MAE and RMSE on held-out ratings at train shares .1, .3, .5 and .8, with several seeds, on the same splits for
all. Nothing is chosen on these data: the defaults of prefmover were fixed on users of MovieLens-1M
(docs/guide/predictions.md), and Surprise runs with its defaults. ``prefmover evaluate`` gives the same rows.
"""

from typing import Any

from bench import arguments, publish, table
from prefmover import datasets
from prefmover.evaluation import evaluate
from prefmover.evaluation.recommenders import PEERS
from prefmover.model import KNNRecommender, Recommender
from prefmover.predict import Covariance

SHARES = (0.1, 0.3, 0.5, 0.8)
OURS = "Recommender()"


def recommenders() -> dict[str, Any]:
    """Return the default, its controls, the paper's model and Surprise's models by label."""
    # The controls ignore the values of the measure; Jaccard's are the quickest to compute.
    uniform = {"measure": "jaccard", "weight": "exponential(0)"}
    ours = {
        OURS: Recommender(),
        "the same, uniform weights": Recommender(**uniform),
        "the same, no neighbors": Recommender(**uniform, covariance=Covariance(shared_taste=0, neighbors=0)),
        "bias + uniform weights, all raters": KNNRecommender(**uniform, k=10**6, shrinkage=1.0),
        "bias": "bias",
        "KNNRecommender.paper()": KNNRecommender.paper(),
    }
    return ours | {f"Surprise {name}": f"surprise:{name}" for name in PEERS}


def main() -> None:
    options = arguments(__doc__, datasets=["ml-100k"], seeds=3, threads=0)
    parts = []
    for name in options.datasets:
        data = datasets.load(name)
        evaluation = evaluate(
            data,
            recommenders(),
            train=SHARES,
            repeats=options.seeds,
            trials=0,  # Surprise's defaults
            n_threads=options.threads or None,
            tell=lambda line: print(line, flush=True),
        )
        means = {(row["label"], row["share"]): row for row in evaluation.summary().to_pylist()}
        cells = {key: f"{row['mae']:.4f} / {row['rmse']:.4f}" for key, row in means.items()}
        labels = list(dict.fromkeys(label for label, _ in means))
        shown = {name: f"Surprise {name}" for name in PEERS}
        lines = [[shown.get(label, label), *(cells[label, share] for share in SHARES)] for label in labels]
        errors = {(one.label, one.share, one.repeat): one.mae[0] for one in evaluation}
        ahead = {
            label
            for (label, share, repeat), mae in errors.items()
            if label != OURS and mae <= errors[OURS, share, repeat]
        }
        verdict = (
            f"The default does not have the lowest MAE on every split: {sorted(ahead)}."
            if ahead
            else "The default has the lowest MAE on every split."
        )
        parts += [
            f"### {name}: MAE / RMSE, mean of {options.seeds} random splits",
            f"Item geometry: {evaluation.records[0].geometry}. {verdict}",
            table(["train share", *map(str, SHARES)], lines),
        ]
    publish("accuracy", "Accuracy", parts, options)


if __name__ == "__main__":
    main()
