"""Files about items in every form, and several together."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prefmover.data.file_options import FileOptions
from prefmover.dataset import Dataset
from prefmover.errors import InputError
from prefmover.items import features
from prefmover.items.geometry import ItemGeometry
from tests.items.reading import read_item_table
from tests.messages import names

PAIRS = [(1, "space"), (1, "robot"), (2, "space"), (2, "robot"), (3, "love"), (3, "robot")]


def rows(separator=",", end="\n", head="movieId{}tag"):
    lines = [head.format(separator), *(f"{item}{separator}{tag}" for item, tag in PAIRS)]
    return end.join(lines) + end


def expected():
    vectors = features.from_tags(*map(list, zip(*PAIRS, strict=True)), dimensions=None, min_items=1)
    return ItemGeometry.from_features(vectors).block()


@pytest.mark.parametrize(
    "text",
    [
        rows(),
        rows(";"),
        rows("\t", "\r\n"),
        rows("::"),
        "\ufeff" + rows(),
        gzip.compress(rows().encode(), mtime=0),
        "userId,movieId,tag,timestamp\n" + "".join(f"9,{i},{t},77\n" for i, t in PAIRS),
        "id,tags\n1,space|robot\n2,robot|space\n3,love|robot\n",
        'id,keywords\n1,"space, robot"\n2,"Robot, Space"\n3,"love,robot"\n',
        "Item ID;Keywords;Title\n1;space, robot;A\n2;robot, space;B\n3;love, robot;C\n",
    ],
)
def test_tags_in_every_form(write, text):
    _, geometry = read_item_table(write(text))
    assert geometry.items.tolist() == [1, 2, 3]
    np.testing.assert_array_equal(geometry.block(), expected())


def test_counts_count(write):
    counted = read_item_table(write("item,tag,count\na,x,3\na,y,1\nb,x,1\nb,y,1\n"))[1]
    repeated = read_item_table(write("item,tag\na,x\na,x\na,x\na,y\nb,x\nb,y\n"))[1]
    np.testing.assert_array_equal(counted.block(), repeated.block())
    plain = read_item_table(write("item,tag\na,x\na,y\nb,x\nb,y\n"))[1]
    assert plain.block()[0, 1] == 0 < counted.block()[0, 1]


def test_vectors(write, tmp_path):
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 3.0]])
    expected = ItemGeometry.from_vectors(["a", "b", "c"], X).block()
    text = "item,title,x,y\n" + "".join(f"{i},T {i},{x},{y}\n" for i, (x, y) in zip("abc", X, strict=True))
    catalog, geometry = read_item_table(write(text))
    np.testing.assert_array_equal(geometry.block(), expected)
    assert catalog.label(0) == "T a"
    table = pa.table({"item": list("abc"), "embedding": X.tolist()})
    pq.write_table(table, tmp_path / "v.parquet")
    np.testing.assert_array_equal(read_item_table(tmp_path / "v.parquet")[1].block(), expected)


def test_titles_here_and_tags_there(write):
    films = write(
        "movieId,title,genres\n1,Alien (1979),Horror\n2,Aliens (1986),Horror\n3,Emma,Romance\n", "f.csv"
    )
    tags = write(rows(), "t.csv")
    for order in ((films, tags), (tags, films)):
        catalog, geometry = read_item_table(*order)
        assert [catalog.label(k) for k in map(catalog.position, (1, 2, 3))] == [
            "Alien (1979)",
            "Aliens (1986)",
            "Emma",
        ]
        assert geometry.name.startswith("1 x genres: 2 + 1 x tags")
    titles = write("movieId,title\n1,Alien\n2,Aliens\n3,Emma\n", "n.csv")
    np.testing.assert_array_equal(read_item_table(titles, tags)[1].block(), expected())
    assert read_item_table(titles, tags)[0].label(0) == "Alien"
    with pytest.raises(InputError, match=names("genres", "tags", "text")):
        read_item_table(titles)


def test_many_tags_become_profiles(write):
    """From twenty items of one tag on, and with genres."""
    films = write("item,genres\n" + "".join(f"{k},{'ab'[k % 2]}\n" for k in range(40)), "f.csv")
    tags = write("item,tag\n" + "".join(f"{k},t{k % 2}\n" for k in range(40)), "t.csv")
    assert "tag profiles" in read_item_table(films, tags)[1].name


def test_ids_are_of_the_type_of_what_was_rated(write):
    ratings = write("user,item,rating\nu,1,5\nv,x,3\n", "r.csv")
    tags = write("item,tag\n1,a\nx,b\n", "t.csv")
    data = Dataset.from_files(ratings, [tags])
    assert data.geometry.items.tolist() == ["1", "x"]
    only_numbers = write("item,tag\n1,a\n", "t.csv")
    data = Dataset.from_files(ratings, [only_numbers], options=FileOptions(missing="far"))
    assert data.geometry.items.tolist() == ["1", "x"]
    assert data.geometry.block()[0, 1] == pytest.approx(np.pi / 2)


def test_missing_items(write):
    ratings = write("user,item,rating\nu,a,5\nv,b,3\nv,c,1\n", "r.csv")
    tags = write("item,tag\na,x\nb,x\n", "t.csv")
    with pytest.raises(InputError, match=names("'c'", "missing", "drop", "far")):
        Dataset.from_files(ratings, [tags])
    with pytest.warns(UserWarning, match=names("'c'")):
        assert Dataset.from_files(ratings, [tags], options=FileOptions(missing="drop")).ratings.n_items == 2
    far = Dataset.from_files(ratings, [tags], options=FileOptions(missing="far"))
    assert far.ratings.n_items == 3
    assert far.geometry.near("c", 2) == [(item, pytest.approx(np.pi / 2)) for item in "ab"]
    with pytest.raises(InputError, match=names("missing", "'away'")):
        Dataset.from_files(ratings, [tags], options=FileOptions(missing="away"))


@pytest.mark.parametrize("dense", [1000, 720_000])  # the second has room for authors of two books
def test_a_column_of_very_many_authors(dense, write, monkeypatch):
    """Each book has one: books are at 0 from those of the same author, and far from all others."""
    monkeypatch.setattr("prefmover.items.table.DENSE", dense)
    lines = "".join(f"{k},author {k // 2 if k < 1000 else k}\n" for k in range(1200))
    _, geometry = read_item_table(write("id,author\n" + lines), tags=["author"])
    D = geometry.block()
    assert "random directions" in geometry.name
    same = np.zeros_like(D, dtype=bool)
    same[np.arange(1000), np.arange(1000) ^ 1] = True
    np.fill_diagonal(same, True)
    assert D[same].max() < 1e-6
    assert D[~same].min() > 0.7  # those of one book, too
