"""Files about items from the wild: lists in cells, columns by name, weights, damaged lines, no header."""

import logging
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prefmover import Dataset
from prefmover.data.file_options import FileOptions
from prefmover.errors import BadLinesWarning, FlatGeometryWarning, InputError, MissingItemsWarning
from prefmover.items import features
from prefmover.items.catalog import Catalog
from prefmover.items.files import words_in_cells
from prefmover.items.geometry import ItemGeometry
from prefmover.items.table import ItemFiles
from tests.items.reading import read_item_table
from tests.messages import names, unnamed


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["a|b", "c", ""], [["a", "b"], ["c"], []]),
        (["a, b", "c"], [["a", "b"], ["c"]]),
        (["a;b|c"], [["a;b", "c"]]),
        (['["a", "b"]', "[]", ""], [["a", "b"], [], []]),
        (["['a', 'b']", "['c']"], [["a", "b"], ["c"]]),
        (["['a' 'b']", "['c']"], [["a", "b"], ["c"]]),
        (["[{'id': 1, 'name': 'a b'}, {'id': 2, 'name': \"it's\"}]"], [["a b", "it's"]]),
        (['[{"id": 1, "name": "a"}]'], [["a"]]),
        (["{'id': 1, 'name': 'Saga', 'poster': None}", ""], [["Saga"], []]),
        (["{'fantasy': 12, 'war': 3}"], [["fantasy", "war"]]),
        (["[1, 2]"], [["1", "2"]]),
        ([["a", None, "b"], []], [["a", "b"], []]),
        ([[{"name": "a"}], []], [["a"], []]),
        (["[uncut] a", "b", "c"], [["[uncut] a"], ["b"], ["c"]]),
        (["['a', 'b'", "['c']", "['d']"], [["['a', 'b'"], ["c"], ["d"]]),
        (["[broken)]", "['c']"], [None, ["c"]]),
        ([], []),
    ],
)
def test_words_in_cells(cells, words):
    assert words_in_cells(cells) == words


def test_cells_that_are_not_to_be_split():
    assert words_in_cells(["a|b, c"], split=False) == [["a|b, c"]]


TMDB = """id,keywords
862,"[{'id': 931, 'name': 'jealousy'}, {'id': 4290, 'name': 'toy'}, {'id': 5202, 'name': 'boy'}]"
8844,"[{'id': 10090, 'name': 'board game'}, {'id': 4290, 'name': 'toy'}, {'id': 1, 'name': ""child's play""}]"
15602,"[{'id': 931, 'name': 'jealousy'}]"
31357,[]
"""


def test_raw_keywords_of_tmdb(write):
    files = ItemFiles.read(write(TMDB))
    assert [tag for _, tag, _ in files.tags[""]] == [
        "jealousy", "toy", "boy", "board game", "toy", "child's play", "jealousy",
    ]  # fmt: skip
    near = files.geometry.near(862, 3)
    assert [item for item, _ in near[:2]] == [15602, 8844]
    assert near[2][1] == pytest.approx(np.pi / 2)


def test_lists_of_structs_in_parquet(tmp_path):
    table = pa.table({"id": [1, 2], "genres": [[{"id": 7, "name": "War"}], [{"id": 8, "name": "Drama"}]]})
    pq.write_table(table, tmp_path / "films.parquet")
    catalog, _ = read_item_table(tmp_path / "films.parquet")
    assert catalog.genres == (("War",), ("Drama",))


def test_a_list_that_cannot_be_parsed_is_named(write):
    with pytest.raises(InputError, match=names("input.csv", 3, "'tags'")):
        read_item_table(write("id,tags\n1,['a']\n2,[broken)]\n3,['a']\n"))


BOOKS = """ISBN;Book-Title;Book-Author;Year-Of-Publication;Publisher
1;Carrie;Stephen King;1974;Doubleday
2;The Shining;Stephen King;1977;Doubleday
3;Emma;Jane Austen;1815;Murray
4;Persuasion;Jane Austen;1817;Murray
5;The Shining Path;Robin Kirk;1993;Norton
"""


def test_author_and_publisher_are_tags_if_told(write):
    path = write(BOOKS)
    with pytest.raises(InputError, match=names("input.csv", "'Book-Author'", "tags=", "text=")):
        read_item_table(path)
    catalog, geometry = read_item_table(path, tags=["Book-Author", "Publisher"])
    assert catalog.label(2) == "Emma (1815)"
    assert geometry.near(1, 1) == [(2, pytest.approx(0, abs=1e-6))]
    assert geometry.near(3, 1) == [(4, pytest.approx(0, abs=1e-6))]
    assert geometry.block()[0, 2] == pytest.approx(np.pi / 2)
    assert not unnamed(geometry.name, "Book-Author", "Publisher")


def test_the_title_is_text_if_told(write):
    catalog, geometry = read_item_table(write(BOOKS), text=["Book-Title"])
    assert geometry.near(2, 1)[0][0] == 5
    assert catalog.label(1) == "The Shining (1977)"


def test_the_title_by_its_column(write):
    text = "item,title,local,tags\n1,Alien,Das unheimliche Wesen,x\n2,Heat,Heat,y\n"
    assert read_item_table(write(text), title="local")[0].labels[0] == "Das unheimliche Wesen"


FILMS = "id,genres,overview\n1,War,a robot in love\n2,War,a ship at sea\n3,Love,a robot at war\n4,Love,love\n"


def test_text_is_not_mixed_in_unasked(write, caplog):
    ids, genres = [1, 2, 3, 4], ["War", "War", "Love", "Love"]
    texts = ["a robot in love", "a ship at sea", "a robot at war", "love"]
    only = ItemGeometry.from_features(features.from_genres(ids, genres)).block()
    with caplog.at_level(logging.INFO, "prefmover"):
        np.testing.assert_array_equal(read_item_table(write(FILMS))[1].block(), only)
    assert not unnamed(caplog.text, "'overview'", "text=")
    blocks = features.from_genres(ids, genres), features.from_text(ids, texts, min_items=1)
    for options, weight in (
        ({"text": ["overview"]}, 0.1),
        ({"weights": {"overview": 1}}, 1.0),
        ({"text": ["overview"], "weights": {"overview": 0.5}}, 0.5),
    ):
        both = ItemGeometry.from_features(features.combine(*blocks, weights=[1, weight])).block()
        np.testing.assert_allclose(read_item_table(write(FILMS), **options)[1].block(), both, atol=1e-6)
    alone = read_item_table(write(FILMS), weights={"genres": 0})[1]
    np.testing.assert_allclose(alone.block(), ItemGeometry.from_features(blocks[1]).block(), atol=1e-6)


def test_text_alone_describes_items(write):
    assert read_item_table(write("id,overview\n1,a robot\n2,the robot\n3,love\n"))[1].near(1, 1)[0][0] == 2


def test_a_weight_of_tags(write):
    text = "id,genres,author\n1,War,Ann\n2,War,Bob\n3,Love,Ann\n"
    light = read_item_table(write(text), tags=["author"], weights={"author": 0.2})[1].block()
    heavy = read_item_table(write(text), tags=["author"], weights={"author": 5})[1].block()
    assert light[0, 1] < light[0, 2]
    assert heavy[0, 1] > heavy[0, 2]
    assert np.cos(light[0, 1]) == pytest.approx(1 / 1.2, abs=1e-6)


def test_named_columns_of_several_files(write):
    films = write("movieId,title\n1,Alien\n2,Aliens\n3,Emma\n", "films.csv")
    crew = write("movieId,director\n1,Scott\n2,Scott\n3,Wilde\n", "crew.csv")
    catalog, geometry = read_item_table(films, crew, tags=["director"])
    assert catalog.labels == ["Alien", "Aliens", "Emma"]
    assert geometry.near(1, 1)[0][0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tags": ["autor"]}, names("'autor'", "'author'", "tags=")),
        ({"text": ["plot"]}, names("'plot'", "text=")),
        ({"title": "name"}, names("'name'", "title=")),
        ({"weights": {"plot": 2}}, names("'plot'", "weights=")),
        ({"weights": {"author": -1}}, names("'author'", -1)),
        ({"weights": {"author": "2"}}, names("'author'", "'2'")),
        ({"tags": "author"}, names("tags", "'author'")),
    ],
)
def test_columns_that_are_not_there(write, options, message):
    with pytest.raises(InputError, match=message):
        read_item_table(write("id,tags,author\n1,x,Ann\n2,y,Bob\n"), **options)


def test_weights_as_they_are_typed():
    assert FileOptions.from_settings({"column_weight": ["a=1", "b=c=0.5"]}).weights == {"a": 1.0, "b=c": 0.5}
    for text in ("a", "a=", "=1", "a=x"):
        with pytest.raises(InputError, match=names(f"'{text}'")):
            FileOptions.from_settings({"column_weight": [text]})


def test_movies_without_a_header(write):
    text = "0002844::Fantômas - À l'ombre de la guillotine (1913)::Crime|Drama\n0004936::The Movie (1915)::\n"
    catalog, geometry = read_item_table(write(text, "movies.dat"))
    assert catalog.ids.tolist() == ["0002844", "0004936"]
    assert catalog.label(1) == "The Movie (1915)"
    assert catalog.genres == (("Crime", "Drama"), ())
    assert geometry.n_items == 2


def test_vectors_whose_columns_are_numbered(write):
    _, geometry = read_item_table(write("item,0,1\n5,1,0\n6,1,0\n7,0,1\n"))
    assert geometry.near(5, 1) == [(6, pytest.approx(0, abs=1e-6))]


DAMAGED = (
    "id,title,year,tags\n1,Alien,1979,x|y\n2,Heat\n,Ghost,1990,x\nNULL,Ghost,1990,x\n3,Emma,old,z\n"
    "1 ,Alien,1979,x\n4,Jaws,1975,x\n"
)


@pytest.mark.parametrize(
    ("row", "line"),
    [("2,Heat", 3), (",Ghost,1990,x", 3), ("NULL,G,1990,x", 3), ("3,E,old,z", 3), ("1 ,A,1,x", 3)],
)
def test_a_bad_line_is_an_error_that_names_the_option(write, row, line):
    with pytest.raises(InputError, match=names("input.csv", line, "on_bad_lines")):
        read_item_table(write(f"id,title,year,tags\n1,Alien,1979,x|y\n{row}\n"))


def test_bad_lines_are_left_out_and_counted(write, caplog):
    with caplog.at_level(logging.INFO, "prefmover"), warnings.catch_warnings():
        warnings.simplefilter("error")
        catalog, _ = read_item_table(write(DAMAGED), on_bad_lines="skip")
    assert catalog.labels == ["Alien (1979)", "Jaws (1975)"]
    assert not unnamed(caplog.text, "input.csv", "5 bad lines")
    with pytest.warns(BadLinesWarning, match=names("input.csv", 5)):
        read_item_table(write(DAMAGED), on_bad_lines="warn")


def test_items_that_differ_by_spaces(write):
    text = "id\ttitle\ttags\n0486404242\tA\tx\n0486404242 \tB\ty\n"
    with pytest.raises(InputError, match=names("input.csv", 2, 3, "'0486404242'", "on_bad_lines")):
        read_item_table(write(text))
    assert read_item_table(write(text), on_bad_lines="skip")[0].labels == ["A"]


def test_backslashes_in_books(write):
    text = '"ISBN";"Book-Title";"Book-Author"\n"1";"The \\"Bo\\" Diet";"Ann"\n"2";"Emma";"Ann"\n'
    catalog, _ = read_item_table(write(text.encode("latin-1")), tags=["Book-Author"])
    assert catalog.titles == ('The "Bo" Diet', "Emma")


def test_tag_assignments_with_dates(write):
    text = "userID artistID tagID day month year\n2 52 13 1 4 2009\n2 52 15 1 4 2009\n3 53 13 2 4 2010\n"
    catalog, geometry = read_item_table(write(text.replace(" ", "\t")))
    assert catalog.years.tolist() == [0, 0]
    assert 0 < geometry.block()[0, 1] < np.pi / 2


@pytest.mark.parametrize(
    ("text", "year"),
    [
        ("1979", 1979),
        ("1979.0", 1979),
        ("1979-05-25", 1979),
        ("25.5.1979", 1979),
        ("-750", -750),
        ("", 0),
        ("NA", 0),
    ],
)
def test_years(write, text, year):
    assert read_item_table(write(f"id,release_date,tags\n1,{text},x\n2,,x\n"))[0].years.tolist() == [year, 0]


def test_years_of_a_frame_that_are_none():
    frame = pa.table({"item": [7, 9], "title": ["A", "B"], "year": ["1979", "long ago"]})
    with pytest.raises(InputError, match=names(9, "'long ago'")):
        Catalog.from_items(frame)
    years = pa.table({"item": [7, 9, 10], "title": ["A", "B", "C"], "year": ["1979", None, "1980-01-02"]})
    assert Catalog.from_items(years).years.tolist() == [1979, 0, 1980]


def no_geometry(monkeypatch):
    """Make the computation of features an error: what is reported before needs none."""

    def refuse(*_, **__):
        raise AssertionError("features were computed")

    for name in ("from_tags", "from_genres", "from_text", "combine"):
        monkeypatch.setattr(features, name, refuse)


def test_missing_items_are_reported_before_anything_is_computed(write, monkeypatch):
    no_geometry(monkeypatch)
    ratings = write("user,item,rating\nu,a,5\nv,b,3\nv,c,1\n", "r.csv")
    tags = write("item,tag\na,x\nb,x\n")
    with pytest.raises(InputError, match=names(1, 3, "'c'", "input.csv", "missing", "drop", "far")):
        Dataset.from_files(ratings, [tags])
    with pytest.warns(MissingItemsWarning, match=names("'c'")):
        data = Dataset.from_files(ratings, [tags], options=FileOptions(missing="drop"))
    with pytest.raises(InputError, match=names("'Z'")):
        data.item_position("Z")
    with pytest.raises(AssertionError):
        assert data.geometry


def test_fewer_than_half_are_worth_a_doubt(write):
    ratings = write("user,item,rating\n" + "".join(f"u,{k},5\n" for k in range(9)), "r.csv")
    with pytest.warns(MissingItemsWarning, match=names("same ids", 7, 9)):
        Dataset.from_files(ratings, [write("item,tag\n1,x\n2,x\n")], options=FileOptions(missing="drop"))


@pytest.mark.parametrize("missing", ["error", "drop", "far"])
def test_ids_of_another_catalog(write, monkeypatch, missing):
    no_geometry(monkeypatch)
    ratings = write("user,item,rating\n" + "".join(f"u,{k},5\n" for k in range(300)), "r.csv")
    items = write("item,tag\n" + "".join(f"tt{k},x\n" for k in range(200)))
    with pytest.raises(InputError, match=names("input.csv", "'tt0'", 0, 300, "catalog", "item_id=")):
        Dataset.from_files(ratings, [items], options=FileOptions(missing=missing))
    padded = write("item,tag\n" + "".join(f"{k:07d},x\n" for k in range(300)))
    with pytest.raises(InputError, match=names("input.csv", "'0000000'", "zeros")):
        Dataset.from_files(ratings, [padded], options=FileOptions(missing=missing))


def test_the_column_of_ids_may_differ_from_that_of_the_ratings(write):
    ratings = write("user,movieId,rating\nu,tt1,5\nu,tt2,4\n", "r.csv")
    items = write("id,imdb_id,tags\n7,tt1,x\n8,tt2,y\n")
    with pytest.raises(InputError, match=names("catalog", "item_id=")):
        Dataset.from_files(ratings, [items])
    assert Dataset.from_files(
        ratings, [items], options=FileOptions(item_id="imdb_id")
    ).catalog.ids.tolist() == ["tt1", "tt2"]
    with pytest.raises(InputError, match=names("'imdb'", "'imdb_id'", "item_id=")):
        Dataset.from_files(ratings, [items], options=FileOptions(item_id="imdb"))


def test_a_few_ids_of_another_kind(write):
    ratings = write("user,item,rating\nu,1,5\nu,2,4\n", "r.csv")
    items = write("item,tag\n1,x\n2,y\n3,y\n1997-08-20,x\n")
    with pytest.raises(InputError, match=names("input.csv", "'1997-08-20'", "on_bad_lines")):
        Dataset.from_files(ratings, [items])
    assert Dataset.from_files(
        ratings, [items], options=FileOptions(on_bad_lines="skip")
    ).catalog.ids.tolist() == [1, 2, 3]


def test_options_of_items_without_items(write):
    ratings = write("user,item,rating\nu,1,5\nu,2,4\n", "r.csv")
    with pytest.raises(InputError, match=names("tags=")):
        Dataset.from_files(ratings, options=FileOptions(tags=["author"]))


def test_a_geometry_that_says_little_warns(write):
    cells = "".join(f'{k},"space x{k} and robots y{k}"\n' for k in range(40))
    with pytest.warns(FlatGeometryWarning, match=names("100%", "input.csv", 40, "tags")):
        assert read_item_table(write("id,tags\n" + cells))
    bare = "".join(f"{k},{'x' if k < 5 else ''}\n" for k in range(40))
    with pytest.warns(FlatGeometryWarning, match=names(35, 40)):
        assert read_item_table(write("id,tags\n" + bare))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_item_table(write("id,tags\n" + "".join(f"{k},t{k % 9}|all\n" for k in range(40))))


def test_the_geometry_of_files_is_made_once_and_in_the_order_of_the_data(write, monkeypatch):
    ratings = write("user,item,rating\nu,c,5\nv,a,3\n", "r.csv")
    items = write("item,tag\na,x\nb,x\nc,y\n")
    data = Dataset.from_files(ratings, [items])
    assert data.ratings.items.tolist() == ["a", "c", "b"]
    geometry = data.geometry
    assert geometry.items.tolist() == ["a", "c", "b"]
    no_geometry(monkeypatch)
    assert data.with_ratings(data.ratings).geometry is geometry


def test_columns_are_checked_at_once():
    with pytest.raises(InputError):
        FileOptions(weights={"a": True})


def test_one_row_for_each_genre_in_any_order(write):
    rows = [(1, "A", "War"), (1, "A", "Love"), (2, "B", "War"), (2, "B", "Space")]
    first = "".join(f"{genre},{item},{title}\n" for item, title, genre in rows)
    last = "".join(f"{item},{title},{genre}\n" for item, title, genre in rows)
    files = [ItemFiles.read(write(text)) for text in ("genre,id,title\n" + first, "id,title,genre\n" + last)]
    one, other = (file.geometry.block() for file in files)
    np.testing.assert_array_equal(one, other)
    assert 0 < one[0, 1] < np.pi / 2
