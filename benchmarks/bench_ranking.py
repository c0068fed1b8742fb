"""Recommended lists: the default model, and the recommenders that people would use instead.

nDCG@10 of lists from all items that a user has not rated in training, relevant from 4 stars on (for plays and
clicks, always), on the same random splits for all. The numbers of every recommender are chosen on a part of
the *training* ratings: those of the default within its fit, those of EASE, item-kNN and user-kNN by a search
of 12 trials on a fifth (prefmover.evaluation.grids). Nothing is chosen on the test part.

The second table has one fitted model, its two sides alone, and what ``novelty`` and ``diversify`` do.

``--datasets ml-100k goodbooks lastfm``: the last two are read from ``goodbooks-sample/`` and ``lastfm-2k/`` in
the folder that PREFMOVER_DATA names.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np

from bench import arguments, publish, table
from prefmover import Dataset, datasets
from prefmover.data.splits import random_split
from prefmover.evaluation import evaluate, metrics
from prefmover.evaluation.baselines.by_scores import ScoredLists
from prefmover.evaluation.ranking_task import Question, check_lists
from prefmover.model import Recommender
from prefmover.rank.selection import Selection

OURS = "Recommender()"
PEERS = ("ease", "item-knn", "user-knn", "liked-popularity", "popularity")
NOVELTY = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
DIVERSIFY = (0.05, 0.1, 0.2, 0.3, 0.5)
FILES: dict[str, dict[str, Any]] = {
    "goodbooks": {
        "ratings": "goodbooks-sample/ratings.csv",
        "items": ["goodbooks-sample/books.csv"],
        "tags": ("genres", "authors"),
        "missing": "far",
    },
    "lastfm": {
        "ratings": "lastfm-2k/user_artists.dat",
        "items": ["lastfm-2k/user_taggedartists.dat"],
        "user": "userID",
        "item": "artistID",
        "rating": "weight",
        "feedback": "implicit",
        "tags": ("tagID",),
        "missing": "far",
    },
}


def opened(name: str) -> Dataset:
    """Return a data set by name."""
    if name not in FILES:
        return datasets.load(name)
    folder, files = Path(os.environ["PREFMOVER_DATA"]), dict(FILES[name])
    return Dataset.from_files(
        folder / files.pop("ratings"), [folder / one for one in files.pop("items")], **files
    )


def comparison(data: Dataset, shares: tuple[float, ...], seeds: int, threads: int | None) -> list[str]:
    """Return the table of all recommenders, and how far the default is above the best of the others."""
    evaluation = evaluate(
        data,
        {OURS: Recommender(), **{peer: peer for peer in PEERS}},
        task="ranking",
        train=shares,
        repeats=seeds,
        n_threads=threads,
        tell=lambda line: print(line, flush=True),
    )
    rows = evaluation.summary("ranking").to_pylist()
    means = {(row["label"], row["share"]): row for row in rows}
    labels = list(dict.fromkeys(row["label"] for row in rows))
    head = ["train share", *(str(share) for share in shares), *(f"seconds at {share}" for share in shares)]
    lines = []
    for label in labels:
        some = [means[label, share] for share in shares]
        seconds = [f"{s['tune_seconds'] + s['fit_seconds']:.1f} + {s['answer_seconds']:.1f}" for s in some]
        lines.append([label, *(f"{s['ndcg']:.4f}" for s in some), *seconds])
    values = {(one.label, one.share, one.repeat): one.metrics.ndcg[0] for one in evaluation}
    verdicts = []
    for share in shares:
        best = max((label for label in labels if label != OURS), key=lambda one: means[one, share]["ndcg"])
        above = means[OURS, share]["ndcg"] / means[best, share]["ndcg"] - 1
        splits = [
            values[OURS, share, r] / max(values[one, share, r] for one in labels if one != OURS) - 1
            for r in sorted({repeat for _, at, repeat in values if at == share})
        ]
        each = ", ".join(f"{one:+.1%}" for one in splits)
        verdicts.append(f"{above:+.1%} over {best} at {share} (split by split, over the best: {each})")
    return [
        f"Item geometry: {evaluation.records[0].geometry}. The default: {'; '.join(verdicts)}.",
        table(head, lines),
    ]


def dials(data: Dataset, share: float, threads: int | None) -> list[str]:
    """Return the table of one fitted model: both sides, each alone, novelty and diversity."""
    split = random_split(data.ratings, share, 0)
    question, train = Question.of_split(split), data.with_ratings(split.train)
    model = Recommender(n_threads=threads).fit(train)
    raters, users, lines = train.ratings_per_item, question.users, []

    def add(label: str, answer: Any) -> None:
        lists = check_lists(answer, question, 10, label).positions
        ndcg = metrics.user_metrics(question.hits(lists), question.n_relevant, 10)["ndcg"].mean()
        apart = None if train.geometry is None else metrics.diversity(lists, train.geometry)
        share_of_items = metrics.list_coverage(lists, train.n_items)
        row = [label, f"{ndcg:.4f}", f"{metrics.popularity(lists, raters):.0f}"]
        lines.append([*row, "" if apart is None else f"{apart:.3f}", f"{share_of_items:.1%}"])

    def one_side(side: int) -> ScoredLists:
        best, selection = [], Selection.make(train, 10)
        for block in np.array_split(users, max(1, len(users) // 500)):
            for user, scores in zip(block, model.ranker_.block(block)[side], strict=True):
                best.append(selection.best(scores, train.ratings.row(user)[0]))
        return ScoredLists(train.ratings.items, np.stack(best))

    ids = question.ids()
    add("default", model.recommend(ids, 10))
    add("item side alone", one_side(0))
    add("user side alone", one_side(1))
    for value in NOVELTY:
        add(f"novelty {value:g}", model.recommend(ids, 10, novelty=value))
    for value in DIVERSIFY:
        add(f"diversify {value:g}", model.recommend(ids, 10, diversify=value))
    head = ["lists", "nDCG@10", "median number of raters", "mean distance in a list", "items in some list"]
    return [f"One model, train share {share}, settings {model.settings_['ranking']}.", table(head, lines)]


def main() -> None:
    options = arguments(
        __doc__, datasets=["ml-100k"], shares="0.8,0.3,0.1", seeds=2, threads=0, key="ranking"
    )
    shares, threads = tuple(map(float, options.shares.split(","))), options.threads or None
    parts = []
    for name in options.datasets:
        data = opened(name)
        parts.append(
            f"### {name}: nDCG@10, mean of {options.seeds} random splits; seconds to fit + to recommend"
        )
        parts += comparison(data, shares, options.seeds, threads)
        parts.append(f"### {name}: sides, novelty, diversity")
        parts += dials(data, shares[0], threads)
    publish(options.key, "Recommended lists", parts, options)


if __name__ == "__main__":
    main()
