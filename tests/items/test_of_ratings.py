"""A file of ratings that describes its items, too."""

import json
import logging

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from prefmover import Dataset
from prefmover.data.file_options import FileOptions
from prefmover.errors import InputError
from tests.messages import names, unnamed

WIDE = """order,customer,product,rating,category,brand,fit,review
1,ann,a,5,coat,North,small,"warm, soft"
2,ann,b,4,scarf,North,,soft
3,bob,a,2,coat,North,large,itchy
4,bob,c,5,boots,Trek,,dry
5,cem,c,4,boots,Trek,small,heavy
6,cem,b,3,scarf,,large,thin
"""


def read(path, **options):
    return Dataset.from_files(path, [path], options=FileOptions(**options))


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_columns_with_one_value_per_item_describe_the_items(write, tmp_path, caplog, ending):
    path = write(WIDE, "wide.csv")
    if ending == "parquet":
        pq.write_table(pa_csv.read_csv(path), tmp_path / "wide.parquet")
        path = tmp_path / "wide.parquet"
    elif ending == "jsonl":
        rows = pa_csv.read_csv(path).to_pylist()
        path = write("\n".join(json.dumps({key: x for key, x in row.items() if x}) for row in rows))
    with caplog.at_level(logging.INFO, logger="prefmover"):
        data = read(path, tags=["brand"])
    assert dict(zip(data.catalog.ids, data.catalog.genres, strict=True)) == {
        "a": ("coat",), "b": ("scarf",), "c": ("boots",),
    }  # fmt: skip
    near = {item: data.geometry.near(item, 1)[0][0] for item in "ab"}
    assert near == {"a": "b", "b": "a"}  # of one brand; an empty cell says nothing
    (line,) = [one for one in caplog.messages if "differ" in one]
    assert not unnamed(line, "'order'", "'fit'", "'review'")
    assert not {"'brand'", "'category'", "'customer'", "'rating'"} & set(line.replace(",", "").split())


def test_without_usual_names_words_that_items_share_are_tags(write, caplog):
    with caplog.at_level(logging.INFO, logger="prefmover"):
        data = read(write(WIDE.replace("category", "sort")))
    assert any("tags from 'brand'" in line for line in caplog.messages)
    assert data.geometry.near("a", 1)[0][0] == "b"


def test_a_few_errors_do_not_cost_a_column(write):
    rows = "".join(f"u{k % 9},i{k % 40},{1 + k % 5},{'odd' if k == 3 else k % 4}x\n" for k in range(360))
    data = read(write("user,item,rating,category\n" + rows))
    assert data.catalog.genres[data.ratings.item_position("i3")] == ("3x",)
    rows = rows.replace(",0x\n", ",9x\n", 40)  # and now most items of one kind have two
    with pytest.raises(InputError, match=names("genres", "tags", "text")):
        read(write("user,item,rating,category\n" + rows))


@pytest.mark.parametrize(("items", "offered"), [(3, []), (30, ["category", "name"])])
def test_what_is_beside_the_ratings_is_offered(write, caplog, items, offered):
    """Only if enough items have several ratings, and if items share it."""
    rows = [
        f"{u},p{p},{1 + (u + p) % 5},kind {p % 3},{u % 4},Thing {p}" for u in range(4) for p in range(items)
    ]
    path = write("\n".join(["user,product,rating,category,body type,name", *rows]))
    with caplog.at_level(logging.INFO, logger="prefmover"):
        Dataset.from_files(path)
    (said,) = [one for one in caplog.messages if "compared by their ratings" in one]
    assert [name for name in ("category", "body type", "name") if repr(name) in said] == offered
    assert ("--items" in said) == bool(offered)


def test_another_file_of_items_must_have_each_item_once(write):
    ratings = write(WIDE, "wide.csv")
    with pytest.raises(InputError, match=names("copy.csv")):
        Dataset.from_files(ratings, [write(WIDE.replace("review", "text"), "copy.csv")])
