"""One fitted model: its two sides alone, and what ``novelty`` and ``diversify`` do to its lists.

nDCG@10 of lists from all items that a user has not rated in training, relevant from 4 stars on (for plays and
clicks, always). ``prefmover evaluate --task ranking`` compares the model with others.
"""

from typing import Any

import numpy as np

from bench import arguments, dataset, publish, table
from prefmover import Dataset
from prefmover.data.splits import random_split
from prefmover.evaluation import metrics
from prefmover.evaluation.tasks import RankingTask, check_lists
from prefmover.model import Recommender
from prefmover.rank.recommendations import Selection

NOVELTY = (-1.0, -0.5, -0.25, -0.1, 0.1, 0.25, 0.5, 1.0)
DIVERSIFY = (0.05, 0.1, 0.2, 0.3, 0.5)


def dials(data: Dataset, share: float, threads: int | None) -> list[str]:
    """Return the table of one fitted model: both sides, each alone, novelty and diversity."""
    split = random_split(data.ratings, share, 0)
    question, train = RankingTask.of_split(split), data.with_ratings(split.train)
    model = Recommender(n_threads=threads).fit(train)
    raters, users, lines = train.ratings_per_item, question.users, []

    def add(label: str, answer: Any) -> None:
        lists, _ = check_lists(answer, question, 10, label)
        ndcg = metrics.user_metrics(question.hits(lists), question.n_relevant, 10)["ndcg"].mean()
        apart = None if train.geometry is None else metrics.diversity(lists, train.geometry)
        share_of_items = metrics.list_coverage(lists, train.n_items)
        row = [label, f"{ndcg:.4f}", f"{metrics.popularity(lists, raters):.0f}"]
        lines.append([*row, "" if apart is None else f"{apart:.3f}", f"{share_of_items:.1%}"])

    def one_side(side: int) -> list[list[Any]]:
        lists, selection = [], Selection(train, 10)
        for block in np.array_split(users, max(1, len(users) // 500)):
            for user, scores in zip(block, model.ranker_.block(block)[side], strict=True):
                best = selection.best(scores, train.ratings.row(user)[0])
                lists.append(train.ratings.items[best[best >= 0]].tolist())
        return lists

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
    options = arguments(__doc__, datasets=["ml-100k"], share=0.8, threads=0)
    parts = []
    for name in options.datasets:
        parts.append(f"### {name}: sides, novelty, diversity")
        parts += dials(dataset(name), options.share, options.threads or None)
    publish("ranking", "Sides of the ranking, novelty, diversity", parts, options)


if __name__ == "__main__":
    main()
