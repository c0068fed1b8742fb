"""HetRec 2011 Last.fm: how often people played artists, and the tags that they gave them.

Play counts go from 1 to 352,698; they are implicit feedback, damped by log₂(1 + c). Tags describe artists.
The tables are tab-separated with a header. Some tags are Latin-1 in a file that is otherwise UTF-8.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from prefmover._typing import Ints
from prefmover.dataset import Dataset
from prefmover.datasets.archive import Files
from prefmover.datasets.reading import Layout, Tags, assemble, most_used, read_ratings, refuse_repeats
from prefmover.datasets.registry import Source
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.catalog import Catalog

__all__ = ["read"]

PLAYS = Layout({"userID": "int", "artistID": "int", "weight": "float"}, "\t", encoding="mixed")
ARTISTS = Layout({"id": "int", "name": "text"}, "\t", encoding="mixed")
TAGS = Layout({"tagID": "int", "tagValue": "text"}, "\t", encoding="mixed")
TAGGED = Layout({"artistID": "int", "tagID": "int"}, "\t")
MOST_GENRES = 10  # tags of an artist that are shown, if several people gave them


def read(source: Source, files: Files) -> Dataset:
    """Return the data set in some files, without a check of its size."""
    ratings = read_ratings(files, "user_artists.dat", PLAYS, implicit=True, damping="log")
    artists, origin = ARTISTS.read(files, "artists.dat")
    ids = artists["id"]
    refuse_repeats(ids, "artist", origin)
    artist_ids, tags = _read_tags(files)
    names = [name.strip() or str(id_) for id_, name in zip(ids.tolist(), artists["name"], strict=True)]
    given = Counter(zip(artist_ids.tolist(), tags, strict=True))
    rows = sorted((artist, tag, n) for (artist, tag), n in given.items() if n > 1)
    several = Tags(
        np.array([row[0] for row in rows]), [row[1] for row in rows], np.array([row[2] for row in rows])
    )
    catalog = Catalog(ids, names, genres=most_used(several, ids, MOST_GENRES))
    return assemble(
        source, files, ratings, catalog,
        lambda: features.from_tags(artist_ids, tags, ids=catalog.ids, name="user tags"),
    )  # fmt: skip


def _read_tags(files: Files) -> tuple[Ints, list[str]]:
    """Return one row per tag that a user gave an artist: the artist and the tag.

    A few hundred tagged artists are not listed. Their tags still help to learn which tags go together.
    """
    tags, origin = TAGS.read(files, "tags.dat")
    refuse_repeats(tags["tagID"], "tag", origin)
    name_of = {id_: name.strip() for id_, name in zip(tags["tagID"].tolist(), tags["tagValue"], strict=True)}
    given, origin = TAGGED.read(files, "user_taggedartists.dat")
    ids = given["tagID"].tolist()
    unknown = next((row for row, tag in enumerate(ids) if tag not in name_of), None)
    if unknown is not None:
        raise InputError(f"{origin.at(unknown, 'tagID')}: tag {ids[unknown]} is not in tags.dat")
    return given["artistID"], [name_of[tag] for tag in ids]
