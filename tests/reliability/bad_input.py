"""Bad input of every kind, and the messages that prefmover gives.

Each case is a function that does something wrong in a folder, with the values that the message must name: the
file, the line, the value, the option that helps. The tests check these values, not the words.
"""

import gzip
import io
import json
import re
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

import prefmover as pm
from prefmover import Dataset, ItemGeometry, KNNRecommender, Ratings, Recommender, Scale
from prefmover.datasets import tag_genome
from prefmover.datasets.folders import Files
from prefmover.datasets.registry import SOURCES
from prefmover.errors import InputError
from prefmover.evaluation.experiment import Experiment
from prefmover.model import folder as model_folder

Names = tuple[object, ...]  # values that a message must name


@dataclass(frozen=True)
class Case:
    """One kind of bad input."""

    section: str
    what: str
    names: Names
    do: Callable[[Path], object]


CASES: list[Case] = []


def case(
    section: str, what: str, names: Names
) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    """Add a function to the table."""

    def add(do: Callable[[Path], object]) -> Callable[[Path], object]:
        CASES.append(Case(section, what, names, do))
        return do

    return add


def message(one: Case) -> str:
    """Return the message of a case, with its folder written as "…"."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            output = one.do(Path(folder).resolve())
        except InputError as error:
            output = str(error)
        assert isinstance(output, str), f"{one.what}: there was no error"
        text = output.replace(f"{Path(folder).resolve()}/", "").replace(str(Path(folder).resolve()), "…")
        text = re.sub(r"-[0-9a-f]{16}\.", "-….", text)  # checksums depend on the version of Parquet's writer
        return " ".join(text.split())


# --- files of ratings -------------------------------------------------------------------------------------

FILES = "Files of ratings"


def read(folder: Path, content: str | bytes, name: str = "ratings.csv", **options: Any) -> object:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Ratings.read(path, pm.FileOptions(**options))


def text(what: str, names: Names, content: str | bytes, **options: Any) -> None:
    """Add a file of ratings to the table."""
    case(FILES, what, names)(lambda folder: read(folder, content, **options))


def rows(what: str, names: Names, lines: str, column: str = "rating", **options: Any) -> None:
    """Add a file with a header; the message names the file and the column."""
    text(what, ("ratings.csv", f"'{column}'", *names), f"user,item,{column}\n{lines}", **options)


H = "user,item,rating\n"
text("no separator", ("ratings.csv", "hello", "separator"), "hello\nworld\n")
LACKS = ("ratings.csv", "'rating'", "rating=", "'item'")
text("no ratings where ratings are wanted", LACKS, "user,item\na,b\n", feedback="explicit")
rows("a rating that is too large", (3, "1e+200", "'y'", "'b'"), "a,x,5\nb,y,1e200\n")
rows("a rating that is too small", (3, "1e-200", "'y'", "'b'"), "a,x,5\nb,y,1e-200\n")
rows("a rating off the scale", (2, 7, "'x'", "'a'", 1, 5), "a,x,7\n", scale=Scale(1, 5, 1))
rows("between two levels", (2, "3.3", "'x'", "'a'", 1, 5, "0.5"), "a,x,3.3\n", scale=Scale(1, 5, 0.5))
text("a quote that is never closed", ("ratings.csv", 2), H + '"a,x,5\n' + "b,y,4\n" * 30_000)
MIXED = (H + "Zoë,x,5\n").encode() + "José,x,4\n".encode("latin-1")
text("UTF-8 and Latin-1 in one file", ("ratings.csv", 3, "0xe9", "encoding='mixed'"), MIXED)
NO_ID = ("ratings.csv", 3, "'user'", "NULL", "on_bad_lines")
text("an id that stands for none", NO_ID, H + "a,x,5\nNULL,y,3\n")
text("gzip that grows a thousandfold", ("ratings.csv", 100), gzip.compress(bytes(1 << 27), mtime=0))
rows("a negative count", (3, -2, "'y'", "'b'"), "a,x,5\nb,y,-2\n", "plays")
rows("a count that is missing", (3, "'y'", "'b'"), "a,x,5\nb,y,\n", "plays")
text("counts that are all 0", ("ratings.csv", 2, 0), "user,item,plays\na,x,0\nb,y,0\n")
text("damping of ratings", ("damping=", "'log'", "feedback="), H + "a,x,5\n", damping="log")
text("an unknown damping", ("damping", "'cubic'", "log", "sqrt"), "user,item\na,x\n", damping="cubic")
text("a scale for counts", ("scale=", "feedback="), "user,item\na,x\n", scale=Scale(1, 5, 1))
text("a rule for duplicates of counts", ("duplicates=",), "user,item\na,x\n", duplicates="last")
TIMES, AT = "1,2,978300760\n1,3,978300761\n", ("ratings.csv", 3, 978300760, "damping=")
text("times in place of ratings", (*AT, "rating="), TIMES)
text("times in place of counts", (*AT, "count"), TIMES, feedback="implicit")
text("ratings that are all 0, which means none", ("ratings.csv", 1, 0), H + "a,x,0\n", zeros="missing")


def parquet(**columns: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


WHOLE = {"user": ["a", "b"], "item": [1, 2], "rating": [5.0, 3.0]}
text("Parquet that is cut off", ("ratings.csv", "Parquet"), parquet(**WHOLE)[:-30])
text("Parquet without a column of ratings", LACKS, parquet(user=["a"], item=[1]), feedback="explicit")
WORDS = parquet(user=["a"], item=[1], rating=["good"])
text("Parquet with ratings that are text", ("ratings.csv", 1, "'rating'", "'good'", "str"), WORDS)
DATES = parquet(user=pa.array([0], pa.date32()), item=[1], rating=[5.0])
text("Parquet with ids that are dates", ("ratings.csv", 1, "'user'", "date32[day]"), DATES)


@case(FILES, "Parquet with text that is not UTF-8", ("ratings.parquet", "Parquet"))
def _(folder: Path) -> object:
    broken = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff\xfe"], pa.binary()).buffers())
    return read(folder, parquet(user=broken, item=[1], rating=[5.0]), "ratings.parquet")


# --- frames, arrays, matrices -----------------------------------------------------------------------------

MEMORY = "Frames, lists and matrices"
memory = partial(case, MEMORY)
memory("a list instead of a frame", ("list", "from_arrays", "from_csr"))(
    lambda _: Ratings.from_frame([1, 2, 3])
)
memory("a frame with ids that are floats", (1, "'user'", "1.5"))(
    lambda _: Ratings.from_frame(pd.DataFrame({"user": [1.5], "item": [2], "rating": [3]}))
)
memory("lists of different lengths", ("users", "items", "ratings", "(2, 1, 1)"))(
    lambda _: Ratings.from_arrays([1, 2], [1], [5.0])
)
memory("numbers instead of lists", ("users", "items", "ratings", "int"))(
    lambda _: Ratings.from_arrays(1, 2, 3)
)
memory("integers and strings mixed as ids", ("user", "'a'"))(
    lambda _: Ratings.from_arrays([1, "a"], [1, 2], [5, 4])
)
memory("an id beyond 64 bits", ("user", 64))(lambda _: Ratings.from_arrays([2**70], [1], [5]))
memory("an id with half a surrogate pair", ("user", "\\ud800"))(
    lambda _: Ratings.from_arrays(["\ud800"], [1], [5])
)
memory("a rating that is a complex number", (1, "'ratings'", "1j", "complex"))(
    lambda _: Ratings.from_arrays(["a"], [1], [1j])
)
memory("a matrix with a missing rating", (2, 1, 0))(
    lambda _: Ratings.from_csr(sparse.csr_array([[5.0, np.nan]]))
)
memory("a scale that ends below its start", ("(5, 1, 1)",))(lambda _: Scale(5, 1, 1))
memory("a scale whose step does not lead to its end", ("(1, 5, 0.3)",))(lambda _: Scale(1, 5, 0.3))
memory("a mask of the wrong length", ("(1,)", 4))(lambda _: small().take(users=np.array([True])))
memory("a position beyond the users", ("users", 0, 3, 99))(lambda _: small().take(users=[99]))

# --- ids --------------------------------------------------------------------------------------------------

IDS = "Unknown ids"


@cache
def small() -> Ratings:
    users = ["ann", "ann", "ann", "bob", "bob", "cid", "cid", "dee"]
    return Ratings.from_arrays(users, [1, 2, 3, 1, 4, 2, 3, 4], [5, 3, 1, 4, 4, 2, 5, 0])


@cache
def space() -> ItemGeometry:
    return ItemGeometry.from_vectors([1, 2, 3, 4], [[1, 0], [1, 1], [0, 1], [1, 3]])


@cache
def data() -> Dataset:
    return Dataset(small(), space())


@cache
def fitted() -> Recommender:
    return Recommender(n_threads=1).fit(Dataset(small().take(users=[0, 1, 2]), space()))


case(IDS, "a misspelled user", ("'bop'", "'bob'"))(lambda _: small().user_position("bop"))
case(IDS, "a number where user ids are strings", ("user", 7))(lambda _: small().user_position(7))
case(IDS, "a string where item ids are numbers", ("item", "'2'", 2))(lambda _: small().item_position("2"))
case(IDS, "a number beyond all ids", ("item", 1000000000000000000000000000000))(
    lambda _: small().item_position(10**30)
)
case(IDS, "one id where a list is expected", ("user", "'ann'"))(lambda _: small().user_positions("ann"))
case(IDS, "a user without a positive rating", ("'dee'",))(lambda _: pm.pmd(data(), "ann", "dee"))
case(IDS, "neighbors of an unknown user", ("'zoe'", 4, "'ann'"))(lambda _: pm.nearest(data(), users=["zoe"]))
case(IDS, "a rated item that the geometry does not know", (1, 4, 2, 8, "missing", "drop"))(
    lambda _: Dataset(small(), space().take([0, 1, 2]))
)
case(IDS, "ratings and geometry with different kinds of ids", (4, 8, 1, 2, 3))(
    lambda _: Dataset(small(), ItemGeometry.from_vectors(["1", "2"], [[1, 0], [0, 1]]))
)

# --- geometries -------------------------------------------------------------------------------------------

GEOMETRY = "Item geometries"
case(GEOMETRY, "a position beyond the items", (9, 4))(lambda _: space().block([9], [0]))
CATALOG = pm.items.catalog.Catalog([1, 2], ["Alien", "Emma"], [1979, 0], [["Horror"], []])
case(GEOMETRY, "a condition on a column that is not there", ("'director'", "year", "genre", "title"))(
    lambda _: CATALOG.matching({"director": "Scott"})
)
case(GEOMETRY, "a condition on a genre that no item has", ("'horor'", "'Horror'"))(
    lambda _: CATALOG.matching({"genre": "Horor"})
)

# --- options ----------------------------------------------------------------------------------------------

OPTIONS = "Options"
option = partial(case, OPTIONS)
option("a misspelled measure", ("measure", "'pmdd'", "'pmd'", "jaccard"))(
    lambda _: pm.nearest(data(), measure="pmdd")
)
option("a measure that needs a geometry, without one", ("'pmd'", "ItemGeometry.from_vectors"))(
    lambda _: Recommender().fit(Dataset(small()))
)
option("k below 1", ("k", 0, 1))(lambda _: pm.nearest(data(), k=0))
option("k that is not a number", ("k", "'ten'", 1))(lambda _: KNNRecommender(k="ten").fit(data()))
option("threads below 1", ("n_threads", 0, 1, "None"))(lambda _: pm.nearest(data(), n_threads=0))
option("ratings where a data set is expected", ("Ratings", "Dataset"))(lambda _: Recommender().fit(small()))
option("an unknown weight", ("weight", "'exponential(-1)'", "one-minus", "exponential(4)"))(
    lambda _: KNNRecommender(weight="exponential(-1)").fit(data())
)
option("an unknown centering", ("centering", "'median'", "z-score", "baseline"))(
    lambda _: KNNRecommender(centering="median").fit(data())
)
option("negative shrinkage", ("shrinkage", "-1.0", 0))(lambda _: KNNRecommender(shrinkage=-1.0).fit(data()))
option("a parameter that does not exist", ("KNNRecommender", "'neighbors'", "neighborhood", "n_threads"))(
    lambda _: KNNRecommender().set_params(neighbors=3)
)
option("prediction before fitting", ("Recommender", "fit"))(lambda _: Recommender().predict([("ann", 1)]))
option("numbers instead of pairs", ("user", "item"))(lambda _: fitted().predict([1, 2, 3]))
option("a guest without ratings", ())(lambda _: fitted().guest({}))
option("a guest with an unknown item", ("item", 77))(lambda _: fitted().guest({77: 5}))
option("a guest with a rating off the scale", (1, 50, 0, 5))(lambda _: fitted().guest({1: 50}))
option("a guest with a word for a rating", ("'good'",))(lambda _: fitted().guest({1: "good"}))
option("a guest with the name of a user", ("'ann'", "name="))(lambda _: fitted().guest({1: 5}, name="ann"))
option("users who are already in the model", ("'ann'",))(
    lambda _: fitted().add_users(small().take(users=[0]))
)

# --- models and archives ----------------------------------------------------------------------------------

MODELS = "Model folders"


def model(what: str, names: Names, damage: Callable[[Path], object] = lambda _: None) -> None:
    def do(folder: Path) -> object:
        fitted().save(folder / "model")
        damage(folder / "model")
        return Recommender.load(folder / "model")

    case(MODELS, what, names)(do)


def header(**changes: Any) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        content = json.loads((folder / "header.json").read_text())
        for name, value in changes.items():
            inner = content
            *path, last = name.split("__")
            for part in path:
                inner = inner[part]
            inner[last] = value
        content["sha256"] = model_folder.header_sha256(content)
        (folder / "header.json").write_text(json.dumps(content))

    return damage


def forged(change: Callable[[dict[str, Any], bytearray], None]) -> Callable[[Path], object]:
    """Change the arrays of a model and its checksum, as an attacker would."""

    def damage(folder: Path) -> None:
        from hashlib import sha256

        path = next(folder.glob("arrays-*"))
        content = path.read_bytes()
        (length,) = struct.unpack("<Q", content[:8])
        table, data = json.loads(content[8 : 8 + length]), bytearray(content[8 + length :])
        change(table, data)
        head = json.dumps(table).encode()
        path.write_bytes(struct.pack("<Q", len(head)) + head + data)
        about = {
            "name": path.name,
            "size": path.stat().st_size,
            "sha256": sha256(path.read_bytes()).hexdigest(),
        }
        header(files__arrays=about)(folder)

    return damage


def put(name: str, at: int, value: int, width: str = "<i") -> Callable[[Path], object]:
    """Forge one number of an array."""
    return forged(
        lambda table, data: struct.pack_into(
            width, data, table[name]["data_offsets"][0] + struct.calcsize(width) * at, value
        )
    )


def changed(name: str, **fields: Any) -> Callable[[Path], object]:
    """Forge what is said about an array."""
    return forged(lambda table, _: table[name].update(**fields))


def nested(folder: Path) -> None:
    (folder / "header.json").write_text("[" * 10**5)


ARRAYS = "model/arrays-….safetensors"
model("a header with thousands of brackets", ("model/header.json",), nested)
model("a newer format", ("model", 99, 1), header(version=99))
model("an unknown field in the header", ("model/header.json", "surprise"), header(surprise=1))
model("an unknown measure", ("model", "'mine'", "jaccard"), header(parameters__measure="mine"))
model("forged column indices", ("model", 2147483647, 4), put("indices", 0, 2**31 - 1))
model("forged row pointers", ("model",), put("indptr", 1, -5))
model("forged distances", ("model",), put("geometry.grid", 1, -7))
model("forged landmarks", ("model", "landmarks", 3), put("landmarks", 0, 2**40, "<q"))
model("an array of another shape", ("model", "(2, 8)", 4), changed("geometry.grid", shape=[2, 8]))
model("an array beyond the file", (ARRAYS, "[7]", 2**40), changed("data", data_offsets=[0, 2**40]))
model("an array of a negative shape", (ARRAYS, "[-1]"), changed("data", shape=[-1]))
model("an array of another type", ("model", "int64", "float64"), changed("data", dtype="I64"))
LEFT_OUT = "ranking.kernel.unexplained"
model("an array that is missing", ("model", f"'{LEFT_OUT}'"), forged(lambda table, _: table.pop(LEFT_OUT)))

DATA = "Data sets and archives"
RATED = ("ml/ratings.csv", b"userId,movieId,rating,timestamp\n1,1,4,0\n")
FILMS = ("ml/movies.csv", b"movieId,title,genres\n1,A (1990),Drama\n")


def archive(
    what: str,
    names: Names,
    *more: tuple[Any, bytes],
    whole: tuple[Any, ...] = (RATED, FILMS),
    damage: Callable[[bytes], bytes] = bytes,
) -> None:
    def do(folder: Path) -> object:
        out = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
            warnings.simplefilter("ignore")
            for name, content in (*whole, *more):
                made.writestr(name, content)
        (folder / "ml.zip").write_bytes(damage(out.getvalue()))
        source = SOURCES["ml-latest-small"]
        files = Files.open(folder / "ml.zip", (*source.needs, *source.takes)).require(source.needs)
        (folder / "out").mkdir()
        return files.within(1 << 20).copy_to(folder / "out", 1 << 20)

    case(DATA, what, ("ml.zip", *names))(do)


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o120777 << 16
    return info


case(DATA, "a misspelled data set", ("'ml-100'", "'ml-100k'", "cinema"))(lambda _: pm.datasets.load("ml-100"))
archive("without the files", ("ratings.csv", "movies.csv"), ("ml/readme.txt", b"hello"), whole=())
for outside in ("../../etc/cron.d/x", "/etc/passwd", "C:\\windows\\x"):
    archive(f"an entry at {outside}", (repr(outside),), (outside, b"boo"))
LINK = (link("ml/ratings.csv"), b"/etc/passwd")
archive("an entry that is a link", ("ml/ratings.csv",), LINK, whole=(FILMS,))
archive("a file that occurs twice", ("ml/ratings.csv", "other/ratings.csv"), ("other/ratings.csv", b"x"))
LARGE = ("ml/ratings.csv", bytes(3 << 20))
archive("more than the limit", ("3,145,766", "1,048,576"), LARGE, whole=(FILMS,))
ENTRY = b"PK\x01\x02\x14\x03\x14\x00"
archive(
    "an encrypted file",
    ("ml/ratings.csv",),
    damage=lambda data: data.replace(ENTRY + b"\x00", ENTRY + b"\x01"),
)
archive(
    "thousands of entries", ("1,260,000",), *((f"{k:06d}{'x' * 200}", b"") for k in range(5000)), whole=()
)


@case(DATA, "a Tag Genome without tags", ("genome-tags.csv",))
def _(folder: Path) -> object:
    (folder / "genome-scores.csv").write_text("movieId,tagId,relevance\n1,1,.5\n")
    (folder / "genome-tags.csv").write_text("tagId,tag\n")
    return tag_genome.read_genome(Files.open(folder, tag_genome.FILES), cache=folder / "cache")


# --- experiments ------------------------------------------------------------------------------------------

EXPERIMENTS = "Experiments"


def toml(what: str, names: Names, content: str | bytes) -> None:
    def do(folder: Path) -> object:
        path = folder / "run.toml"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return Experiment.read(path)

    case(EXPERIMENTS, what, names)(do)


toml("settings with thousands of brackets", ("run.toml",), "x = " + "[" * 5000)
toml("settings that are not UTF-8", ("run.toml",), b'dataset = "\xff"')
toml("a number of five thousand digits", ("run.toml",), f"dataset = 'cinema'\nseed = {'9' * 5000}")
toml("infinitely many repeats", ("run.toml", "'repeats'", "inf"), "dataset = 'cinema'\nrepeats = inf")
