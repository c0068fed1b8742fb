"""HetRec 2011 Last.fm: how often people played artists, and the tags that they gave them.

Play counts go from 1 to 352,698; they are implicit feedback, damped by log₂(1 + c). Tags describe artists.
The tables are tab-separated with a header. Some tags are Latin-1 in a file that is otherwise UTF-8.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from prefmover._typing import Ints
from prefmover.data.columns import Columns
from prefmover.data.ratings import from_columns
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import assemble, read_headed, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog

__all__ = ["read"]

MOST_GENRES = 10  # tags of an artist that are shown, if several people gave them


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    kinds: dict[str, Any] = {"userID": "int", "artistID": "int", "weight": "float"}
    columns, origin = read_headed(files, "user_artists.dat", kinds, separator="\t", encoding="mixed")
    plays = Columns(tuple(columns.values()), tuple(columns), origin, implicit=True)
    ratings = from_columns(plays, damping="log")
    artists, origin = read_headed(
        files, "artists.dat", {"id": "int", "name": "text"}, separator="\t", encoding="mixed"
    )
    refuse_repeats(artists["id"], "artist", origin)
    artist_ids, tags = _read_tags(files)
    names = [
        name.strip() or str(id_) for id_, name in zip(artists["id"].tolist(), artists["name"], strict=True)
    ]
    catalog = Catalog(artists["id"], names, genres=_shown(artist_ids, tags, artists["id"]))
    return assemble(
        source, files, ratings, catalog,
        lambda: features.from_tags(artist_ids, tags, ids=catalog.ids, name="user tags"),
    )  # fmt: skip


def _read_tags(files: Files) -> tuple[Ints, list[str]]:
    """Return one row per tag that a user gave an artist: the artist and the tag.

    A few hundred tagged artists are not listed. Their tags still help to learn which tags go together.
    """
    kinds: dict[str, Any] = {"tagID": "int", "tagValue": "text"}
    tags, origin = read_headed(files, "tags.dat", kinds, separator="\t", encoding="mixed")
    refuse_repeats(tags["tagID"], "tag", origin)
    name_of = {id_: name.strip() for id_, name in zip(tags["tagID"].tolist(), tags["tagValue"], strict=True)}
    kinds = {"artistID": "int", "tagID": "int"}
    given, origin = read_headed(files, "user_taggedartists.dat", kinds, separator="\t")
    ids = given["tagID"].tolist()
    unknown = next((row for row, tag in enumerate(ids) if tag not in name_of), None)
    if unknown is not None:
        raise InputError(f"{origin.at(unknown, 'tagID')}: tag {ids[unknown]} is not in tags.dat")
    return given["artistID"], [name_of[tag] for tag in ids]


def _shown(artists: Ints, tags: list[str], ids: Ints) -> list[list[str]]:
    """Return the tags of each artist that two or more people gave, the most frequent first."""
    counts = Counter(zip(artists.tolist(), tags, strict=True))
    of: dict[int, list[str]] = {artist: [] for artist in ids.tolist()}
    for (artist, tag), n in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if n > 1 and artist in of and len(of[artist]) < MOST_GENRES:
            of[artist].append(tag)
    return list(of.values())
