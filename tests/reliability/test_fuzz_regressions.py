"""What the fuzzer, and reading with its eyes, found: small inputs that must be refused from now on."""

import gzip
import io
import json
import struct
import warnings
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse

from prefmover import InputError, ItemGeometry, Ratings, Scale
from prefmover.data.file_options import FileOptions
from prefmover.data.ids import IdIndex, as_ids
from prefmover.data.preferences import check_rows
from prefmover.datasets.folders import Files
from prefmover.datasets.reading import Layout
from prefmover.evaluation.experiment import Experiment, parse_ks, parse_shares
from prefmover.evaluation.folder import RunFolder
from prefmover.model.storage import check_arrays
from tests.items.reading import read_item_table
from tests.messages import names


def written(folder, content, name="file"):
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    "pointers", [[0, 2**31 - 1, 0], [0, 2**31 - 1, -(2**31)], [0, -1, 3], [5, 1, 3], [0, 9, 3]]
)
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csc_array])
def test_pointers_that_made_scipy_write_beyond_its_memory(pointers, form):
    # SciPy's full check skips pointers when the last is 0, and subtracts them in 32 bits.
    matrix = form(np.array([[1.0, 2.0], [0.0, 3.0]]))
    matrix.indptr[:] = pointers
    with pytest.raises(InputError):
        Ratings.from_csr(matrix)


@pytest.mark.parametrize(
    ("name", "value"),
    [("indices", [0, 2, 1]), ("indices", [1, 0, 1]), ("indptr", [0, 3, 2]), ("data", [1, np.nan, 2])],
)
def test_rows_that_kernels_would_follow_out_of_bounds(name, value):
    matrix = sparse.csr_array(np.array([[1.0, 2.0], [0.0, 3.0]]))
    check_rows(matrix)
    getattr(matrix, name)[:] = value
    with pytest.raises(InputError):
        Ratings(matrix, as_ids(["a", "b"], "user"), as_ids([1, 2], "item"), Scale(1, 3, 1))


@pytest.mark.parametrize("format_", ["lil", "dia", "coo", "bsr"])
def test_other_formats_of_scipy_that_were_tampered_with(format_):
    matrix = sparse.coo_array(np.array([[1.0, 2.0], [0.0, 3.0]])).asformat(format_)
    if format_ == "lil":
        matrix.rows[0] = [0]
    elif format_ == "dia":
        matrix.offsets[:] = 7
    elif format_ == "coo":
        matrix.coords[0][0] = 9
    else:
        matrix.indices[:] = 5
    with pytest.raises(InputError):
        Ratings.from_csr(matrix)


@pytest.mark.parametrize("content", [b"\n" * 70_000 + b"1,2,3\n", b"\xc2\xa0\n", b"\x1c\x1d\n", b" \n\x0b\n"])
def test_blank_beginnings(tmp_path, content):
    with pytest.raises(InputError, match=names("file")):
        Ratings.read(written(tmp_path, content))


@pytest.mark.parametrize("separator", ["\x00", "a\x00", "\n", '"'])
def test_separators_that_no_parser_takes(tmp_path, separator):
    with pytest.raises(InputError, match="separator"):
        Ratings.read(written(tmp_path, b"1,2,3\n"), FileOptions(separator=separator))


def test_odd_positions_and_encodings(tmp_path):
    path = written(tmp_path, b"1,2,3\n")
    with pytest.raises(InputError, match="rating="):
        Ratings.read(path, FileOptions(rating=-7))
    for encoding in ("a\x00b", "hex", "nothing"):
        with pytest.raises(InputError, match="encoding"):
            Ratings.read(path, FileOptions(encoding=encoding))


@pytest.mark.slow
def test_a_gzip_bomb_is_refused_and_ordinary_gzip_is_not(tmp_path):
    lines = b"user,item,rating\n" + b"".join(b"u%d,i%d,%d\n" % (k, k % 7, k % 5) for k in range(5000))
    assert Ratings.read(written(tmp_path, gzip.compress(lines))).n_ratings == 5000
    with pytest.raises(InputError, match=names(100)):
        Ratings.read(written(tmp_path, gzip.compress(bytes(80 << 20))))


def parquet(table):
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


@pytest.mark.slow
def test_parquet_damage_of_every_page(tmp_path):
    whole = parquet(pa.table({"user": ["a", "b"] * 50, "item": list(range(100)), "rating": [1.0] * 100}))
    refused = 0
    for at in range(0, len(whole), 7):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        try:
            Ratings.read(written(tmp_path, bytes(broken)))
        except InputError:
            refused += 1  # as it should; some bytes do not matter
    assert refused


def test_parquet_with_a_name_twice(tmp_path):
    table = pa.Table.from_arrays(
        [pa.array(["a"]), pa.array([1]), pa.array([2.0]), pa.array([3.0])],
        ["user", "item", "rating", "rating"],
    )
    with pytest.raises(InputError, match=names(2, "'rating'")):
        Ratings.read(written(tmp_path, parquet(table)))


def test_more_rows_than_fit(tmp_path, monkeypatch):
    monkeypatch.setenv("PREFMOVER_MEMORY", "1k")
    table = pa.table({"user": ["a"] * 100, "item": list(range(100)), "rating": [1.0] * 100})
    with pytest.raises(InputError, match=names(100)):
        Ratings.read(written(tmp_path, parquet(table)))


@pytest.mark.parametrize("asked", [10**30, -(10**30), 2**63, "\ud800", None, 1.5, (1,), float("nan")])
def test_looking_for_impossible_ids(asked):
    with pytest.raises(InputError):
        IdIndex("item", as_ids([1, 2, 3], "item")).position(asked)


def test_ids_that_are_lists():
    with pytest.raises(InputError, match=names("list")):
        Ratings.from_arrays([(1,), (2,)], [1, 2], [5, 3])


@pytest.mark.parametrize(
    "values", [(0, 1e308, 1e-300), (0, 10**400, 1), ("a", 1, 1), (None, 1, 1), (0, 1, 1j)]
)
def test_scales_that_overflow(values):
    with pytest.raises(InputError):
        Scale(*values)


@pytest.mark.parametrize("row", [b"--5,x", b"\xc2\xb2,x", b"9" * 5000 + b",x", b"9" * 25 + b",x"])
def test_item_ids_that_look_like_numbers(tmp_path, row):
    catalog, _ = read_item_table(written(tmp_path, b"item,genres\n" + row + b"\nb,y\n"))
    assert catalog.ids[0] == row.split(b",")[0].decode()


def test_lists_of_tags_in_parquet(tmp_path):
    table = pa.table({"item": [1, 2], "tags": [["space", "war"], ["space"]]})
    _, geometry = read_item_table(written(tmp_path, parquet(table)))
    assert geometry.block([0], [1])[0, 0] < np.pi / 2
    with pytest.raises(InputError, match=names("list", "item")):
        read_item_table(written(tmp_path, parquet(pa.table({"item": [[1]], "tags": ["a"]}))))


@pytest.mark.parametrize("text", ["1:999999999999", "1:10:0", "9" * 5000, ":", "1e5"])
def test_numbers_of_neighbors_without_end(text):
    with pytest.raises(InputError, match=names("ks")):
        parse_ks(text)


@pytest.mark.parametrize("text", ["1e999999999:1", "1:1e999999999", "nan", "inf:inf", "0:0", "1:2:3"])
def test_shares_that_took_for_ever(text):
    with pytest.raises(InputError, match=names("train")):
        parse_shares(text)
    assert parse_shares("4:1, 1:9, .5") == (0.8, 0.5, 0.1)


@pytest.mark.parametrize(
    "line",
    [
        "repeats = inf",
        "ks = 5.5",
        "ks = true",
        "recommenders = 5",
        "recommenders = [1]",
        "panels = 'a'",
        "train = [[]]",
    ],
)
def test_settings_of_the_wrong_type(tmp_path, line):
    with pytest.raises(InputError):
        Experiment.read(written(tmp_path, f"dataset = 'cinema'\n{line}\n".encode()))


def test_integers_beyond_64_bits_in_a_table():
    layout = Layout({"movieId": "int", "tag": "text"})
    with pytest.raises(InputError, match=names("tags.csv", 2)):
        layout.parse(b"movieId,tag\n" + b"9" * 30 + b",x\n", "tags.csv")
    with pytest.raises(InputError, match=r"tags\.csv"):
        layout.parse(b'movieId,tag\nx,"' + b"a" * 200_000 + b"\n", "tags.csv")


def archive(*entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as made:
        for name, content in entries:
            made.writestr(name, content)
    return out.getvalue()


def test_entries_without_a_name(tmp_path):
    content = archive(("x", b""), ("ratings.csv", b"1"))
    content = content.replace(struct.pack("<HHH", 1, 0, 0), struct.pack("<HHH", 0, 1, 0))
    with pytest.raises(InputError):
        Files.open(written(tmp_path, content), ["ratings.csv"])


def test_entries_in_the_same_place(tmp_path):
    content = bytearray(archive(("ml/ratings.csv", b"1"), ("ml/movies.csv", b"2")))
    second = content.rfind(b"PK\x01\x02")
    content[second + 42 : second + 46] = bytes(4)  # where the entry starts: at the first one
    with pytest.raises(InputError, match=names("ml/ratings.csv", "overlaps")):
        Files.open(written(tmp_path, bytes(content)), ["ratings.csv"])


@pytest.mark.slow
def test_archives_tampered_with_at_every_byte(tmp_path):
    whole = archive(("ml/ratings.csv", b"userId,movieId\n" * 3), ("ml/movies.csv", b"x"))
    refused = 0
    for at in range(len(whole)):
        for value in (0x00, 0xFF):
            broken = bytearray(whole)
            broken[at] = value
            try:
                Files.open(written(tmp_path, bytes(broken)), ["ratings.csv"]).require(["ratings.csv"]).read(
                    "ratings.csv"
                )
            except InputError:
                refused += 1
    assert refused


def test_methods_of_packing_that_take_memory(tmp_path):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as made:
        made.writestr("ratings.csv", b"1")
    with pytest.raises(InputError, match=names(14)):
        Files.open(written(tmp_path, out.getvalue()), ["ratings.csv"])


def test_packed_files_in_folders_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("prefmover.datasets.folders.MAX_BYTES", 1000)
    written(tmp_path, gzip.compress(bytes(5000)), "ratings.csv.gz")
    with pytest.raises(InputError, match=names("1,000")):
        Files.open(tmp_path, ["ratings.csv"]).read("ratings.csv")


def test_records_with_rare_line_ends(tmp_path):
    texts = dict.fromkeys(("geometry", "protocol", "recommender", "method", "label"), "a")
    counts = dict.fromkeys(("repeat", "seed", "n_train", "n_test", "new_users", "new_items"), 1)
    metrics = {name: [0.5] for name in ("mae", "rmse", "coverage", "neighbors")}
    nested = {"metrics": metrics, "groups": {"n": [1], "sums": [[0.5]]}, "run": {"seconds": 1.0}}
    one = texts | counts | nested
    one |= {"task": "rating", "dataset": "a\u2028b", "share": 0.8, "kind": "control", "cuts": [None]}
    file = tmp_path / "records.jsonl.gz"
    file.write_bytes(gzip.compress(json.dumps(one, ensure_ascii=False).encode() + b"\n"))
    (record,) = RunFolder(tmp_path).records().values()
    assert record.dataset == "a\u2028b"
    file.write_bytes(gzip.compress(json.dumps(one | {"metrics": metrics | {"mae": [1, 2]}}).encode()))
    with pytest.raises(InputError, match=names("records.jsonl.gz", 1, "metrics.mae")):
        RunFolder(tmp_path).records()


def test_arrays_of_models_that_do_not_fit():
    arrays = {"landmarks": np.array([0, 1]), "ranking.kernel.features": np.eye(2, dtype=np.float32)}
    check_arrays(arrays, {"users": 2})
    for n_users in (1, 3):
        with pytest.raises(InputError):
            check_arrays(arrays, {"users": n_users})


@pytest.mark.parametrize(
    "change",
    [
        {"unit": 0.0},
        {"unit": float("nan")},
        {"unit": 1e308},
        {"grid": np.zeros((2, 3), np.int32)},
        {"grid": np.zeros((3, 3), np.int64)},
        {"grid": np.full((3, 3), -1, np.int32)},
        {"grid": np.full((3, 3), 2**30, np.int32)},
        {"grid": None, "vectors": None},
        {"grid": None, "vectors": np.full((3, 2), np.nan)},
        {"grid": None, "vectors": np.full((3, 2), 9.0)},
        {"is_metric": "yes"},
    ],
)
def test_geometries_put_together_by_hand(change):
    from dataclasses import replace

    whole = ItemGeometry.from_vectors([1, 2, 3], [[1, 0], [0, 1], [1, 1]])
    with pytest.raises(InputError):
        replace(whole, **change)


@pytest.mark.parametrize("text", ["2\x1f", "\x1c2", "2\x85"])
def test_a_number_with_space_that_int_does_not_ignore(text):
    # str.strip() drops it and int() does not: the service answered /api/v1/users/2%1F with status 500.
    assert IdIndex("user", np.array([2, 3])).position(text, from_text=True) == 0


@pytest.mark.parametrize("ends", [(np.float16(1), 1e300), (1e300, np.float16(1))])
def test_a_scale_of_narrow_types(ends):
    with warnings.catch_warnings(action="error"), pytest.raises(InputError, match=names("1e+300")):
        Scale(*ends, 0.0)
