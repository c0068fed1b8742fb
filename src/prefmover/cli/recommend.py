"""``prefmover recommend``: items for one user, several or all, with reasons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from prefmover._format import counted
from prefmover.cli import Opt
from prefmover.cli.options import (
    ExecutorOptions,
    ModelOptions,
    PeopleOptions,
    SourceOptions,
    TableFile,
    Text,
    Texts,
    Threads,
    fitted,
    item_id,
)
from prefmover.cli.terminal import Output, check_writable, note, progress, read_text, resumable, write_rows
from prefmover.errors import InputError

if TYPE_CHECKING:
    from prefmover.dataset import Dataset
    from prefmover.model.groups import GroupRecommendations
    from prefmover.rank.recommendations import RecommendationTable

EXAMPLES = (
    "prefmover recommend --ratings ratings.csv --items tags.csv --user 42 -n 5",
    "prefmover recommend --dataset cinema --user petra-h --where genre=Horror --where 'year>=1980'",
    "prefmover recommend --model my-model --user 42 --json",
    "prefmover recommend --model my-model --rated 'Alien=5' --rated 'Heat=2'",
    "prefmover recommend --dataset cinema --user petra-h --user ada-b --together -n 5",
    "prefmover recommend --model my-model --all --out recommendations.parquet",
)


@dataclass(slots=True)
class SelectionOptions:
    """Which items may be recommended, and how they are ordered."""

    by: Annotated[
        Literal["ranking", "rating"], Opt("Order of the items: what to see next, or the predicted rating.")
    ] = "ranking"
    where: Annotated[Texts, Opt("Condition, such as year=1980..1999 or genre=Horror.", "CONDITION")] = None
    item: Annotated[Texts, Opt("Id or title of a candidate.", "ITEM")] = None
    item_file: Annotated[Text, Opt("File of candidates, an id or a title on each line.", "FILE")] = None
    exclude: Annotated[Texts, Opt("Id or title of an item to leave out.", "ITEM")] = None
    min_ratings: Annotated[int, Opt("Minimum number of ratings of an item.", min=0)] = 0
    novelty: Annotated[
        float, Opt("From -1, better known items, to 1, less known ones.", "X", min=-1, max=1)
    ] = 0.0
    diversify: Annotated[float, Opt("How different the items are, from 0 to 1.", "X", min=0, max=1)] = 0.0
    seen: Annotated[bool, Opt("Include items that the user has rated.")] = False

    def arguments(self, data: Dataset) -> dict[str, Any]:
        """Return the arguments of a model's ``recommend``."""
        from prefmover.items.catalog import parse_where

        candidates = list(self.item or ())
        if self.item_file:
            lines = [line.strip() for line in read_text(self.item_file, "--item-file: ").splitlines()]
            if not any(lines):
                raise InputError(
                    f"--item-file: {self.item_file} is empty; give an id or a title on each line"
                )
            candidates += filter(None, lines)
        return {
            "where": parse_where(self.where) if self.where else None,
            "items": [item_id(data, one) for one in candidates] if candidates else None,
            "exclude": [item_id(data, one) for one in self.exclude] if self.exclude else None,
            "min_ratings": self.min_ratings,
            "novelty": self.novelty,
            "diversify": self.diversify,
            "seen": self.seen,
        }


def recommend(
    source: SourceOptions,
    people: PeopleOptions,
    *,
    n: Annotated[int, Opt("Number of items.", "-n", min=1)] = 10,
    out: TableFile = "",
    selection: SelectionOptions,
    together: Annotated[bool, Opt("One list for all --user: what none of them has rated.")] = False,
    combine: Annotated[
        Literal["mean", "least"] | None,
        Opt("together: mean of the members' scores (default), or the least of them."),
    ] = None,
    options: ModelOptions,
    threads: Threads = None,
    cluster: ExecutorOptions,
) -> Output:
    """Recommend items that users have not rated, best first, with predicted ratings and reasons.

    Conditions of --where are on year (1994, 1994|1996, 1980..1999, or 'year>=1980'), genre and title (a part
    is enough; alternatives are separated by |). All of them must hold.

    With --together, all --user form one group. All members count equally, and only items that no member has
    rated are recommended.

    With --all, finished parts are saved in OUT.parts until all are done. After an interruption, run the same
    command again to resume.
    """
    from prefmover.rank.recommendations import Selection

    people.check(together, cluster, out, "recommendations.parquet")
    if combine and not together:
        raise InputError("--combine is about several people together; add --together")
    file = check_writable(out)
    data, model = source.open(threads)
    users, guest = people.find(data)
    if selection.by == "rating" and data.ratings.implicit:
        raise InputError("--by rating needs ratings, and the data are implicit feedback; leave it out")
    chosen = selection.arguments(data)
    Selection(data, n, **chosen)  # before a fit
    chosen["by"] = selection.by
    model = fitted(data, model, options, threads)
    if file and people.all_users:
        parts = file.with_name(f"{file.name}.parts")
        with cluster.open(threads) as executor, progress("recommending") as callback, resumable(parts):
            table = model.recommend_all(n, **chosen, checkpoint=parts, executor=executor, progress=callback)
        return write_rows(table.to_arrow(), file, "recommendation", len(table), parts=parts)
    if together:
        best = model.recommend_group(users, n, combine=combine or "mean", **chosen, reasons=not file)
        if not file:
            return _shown_group(data, best)
        return write_rows(best.to_arrow(), file, "recommendation", len(best.group), " together")
    if guest:
        users = [model.guest(guest, name=data.ratings.user_index.free_name("guest"))]
    table = model.recommend_many(users, n, **chosen, reasons=not file)
    if not file:
        return _shown(data, table, guest)
    return write_rows(table.to_arrow(), file, "recommendation", len(table))


def _shown_group(data: Dataset, best: GroupRecommendations) -> Output:
    names = ", ".join(map(str, best.group))
    heading = f"recommendations for {names} together ({best.combine} of their scores):"
    if not best:
        note(f"{names}: no item is left; somebody has rated all that may be recommended (--seen)")
    return Output(best.to_dict(), _lines(best, data), heading)


def _shown(data: Dataset, table: RecommendationTable, guest: dict[Any, float | None]) -> Output:
    answers, lines, heading = list[dict[str, Any]](), list[str](), ""
    noun = data.item_noun if data.ratings.implicit else "rating"
    for best in table:
        name = "you" if guest else best.user
        answers.append({**best.to_dict(), "user": None if guest else best.user})
        ratings = guest or data.ratings[best.user]
        if len(table) > 1:
            lines.append(f"{name}:")
        else:
            heading = f"recommendations for {name}, from {counted(len(ratings), noun)}:"
        lines += _lines(best, data)
        if not best:
            note(f"{name}: no item is left; all that may be recommended are rated already (--seen)")
    return Output(answers[0] if len(answers) == 1 else {"users": answers}, lines, heading)


def _lines(best: Iterable[Any], data: Dataset) -> list[str]:
    from prefmover.explain.recommendation import recommended_lines
    from prefmover.explain.words import Words

    words = Words.of(data)
    return [line for place, one in enumerate(best, 1) for line in recommended_lines(one, place, words)]
