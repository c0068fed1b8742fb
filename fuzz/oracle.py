"""What every target of the fuzzer shares: what may happen, how long it may take, and what it may cost.

A target is a function of some bytes. It may return, or raise one of prefmover's own errors
(:class:`prefmover.errors.PrefmoverError`). Any other exception, a warning about a number that overflowed, a
crash, more than ``SECONDS`` for one input or more than ``MEGABYTES`` of memory is a finding.

    python fuzz/fuzz_ratings.py --minutes 2       looks for findings; those are kept in .fuzz/ratings/
    python fuzz/fuzz_ratings.py --replay FILE     runs one input again, without the fuzzer
"""

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

SECONDS = 20
MEGABYTES = 3072
HOME = Path(__file__).resolve().parent.parent / ".fuzz"

Target = Callable[[bytes], None]


class Choices:
    """Bytes read as decisions: how a target turns what the fuzzer invents into a structured input."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        """Return the next byte, 0 at the end."""
        self.at += 1
        return self.data[self.at - 1] if self.at <= len(self.data) else 0

    def below(self, n: int) -> int:
        """Return a number from 0 to n - 1."""
        return (self.byte() << 8 | self.byte()) % n if n > 256 else self.byte() % n

    def pick(self, options):  # type: ignore[no-untyped-def]
        """Return one of some options."""
        return options[self.below(len(options))]

    def rest(self) -> bytes:
        """Return what is left."""
        return self.data[self.at :]


def judge(target: Target, data: bytes) -> str:
    """Run a target on an input; return "" if all is well, "refused" for an error of ours; raise a finding."""
    from prefmover.errors import MissingItemsWarning, PrefmoverError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # NumPy: overflow, invalid value
        warnings.simplefilter("ignore", MissingItemsWarning)
        try:
            target(data)
        except PrefmoverError as error:
            if not str(error).strip():
                raise AssertionError(f"{type(error).__name__} without a message") from error
            return "refused"
    return ""


def mutations(seeds: Iterable[bytes], n: int, seed: int = 0) -> Iterable[bytes]:
    """Yield the seeds and n variants: bytes changed, cut, doubled, spliced. The same ones every time."""
    import random

    random_ = random.Random(seed)
    kept = list(seeds)
    yield from kept
    nasty = [
        b"\x00",
        b"\xff",
        b'"',
        b"\n",
        b"\r",
        b",",
        b"-",
        b"9" * 30,
        b"1e999",
        b"nan",
        b"[" * 50,
        b"\xed\xa0\x80",
    ]
    for _ in range(n):
        data = bytearray(random_.choice(kept))
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(data) + 1)
            kind = random_.randrange(5)
            if kind == 0 and data:
                data[at % len(data)] = random_.randrange(256)
            elif kind == 1:
                data[at:at] = random_.choice(nasty)
            elif kind == 2:
                del data[at : at + random_.randint(1, 1 + len(data) // 4)]
            elif kind == 3:
                data[at:at] = data[at : at + random_.randint(1, 40)]
            else:
                other = random_.choice(kept)
                data[at:] = other[random_.randrange(len(other) + 1) :]
        yield bytes(data)


def main(name: str, target: Target, seeds: Iterable[bytes]) -> None:
    """Fuzz a target, or replay inputs."""
    parser = argparse.ArgumentParser(description=f"Fuzz {name}.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--replay", nargs="*", type=Path)
    given = parser.parse_args()
    if given.replay is not None:
        for path in given.replay:
            print(f"{path}: {judge(target, path.read_bytes()) or 'accepted'}")
        return
    import atheris

    folder, corpus = HOME / name, HOME / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    tempfile.tempdir = None
    options = [
        f"-max_total_time={max(1, round(60 * given.minutes))}",
        f"-timeout={SECONDS}",
        f"-rss_limit_mb={MEGABYTES}",
        f"-artifact_prefix={folder}/",
        "-max_len=65536",
        "-print_final_stats=1",
        "-verbosity=0",
        "-close_fd_mask=0",
    ]
    atheris.Setup([sys.argv[0], str(corpus), *options], lambda data: void(judge(target, data)))
    atheris.Fuzz()


def void(_: object) -> None:
    """Return nothing: the fuzzer wants a target without a result."""


def load() -> None:
    """Import the package so that the fuzzer sees which lines of it run."""
    if "--replay" in sys.argv or "pytest" in sys.modules:
        return
    import atheris

    with atheris.instrument_imports(include=["prefmover", "tomllib", "zipfile", "csv"]):
        import prefmover.datasets.install
        import prefmover.evaluation.experiment
        import prefmover.items.table
        import prefmover.model
        import prefmover.model.storage  # noqa: F401
