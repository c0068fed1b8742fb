"""The files of the Tag Genome, in either form."""

import tempfile
from pathlib import Path

import oracle

oracle.load()

import numpy as np

from prefmover.datasets.folders import Files
from prefmover.datasets.tag_genome import FILES, read_genome

CUT = b"\x00\x00"


def target(data: bytes) -> None:
    choices = oracle.Choices(data)
    form = choices.below(2)
    scores, _, tags = choices.rest().partition(CUT)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / FILES[2 * form]).write_bytes(scores)
        (home / FILES[2 * form + 1]).write_bytes(tags)
        genome = read_genome(Files.open(home, FILES), cache=home / "cache")
        assert genome.scores.shape == (len(genome.movies), len(genome.tags))
        assert ((genome.scores >= 0) & (genome.scores <= 1)).all()
        assert (np.diff(genome.movies) > 0).all()
        genome.rows([1, 2, -5])


def seeds() -> list[bytes]:
    return [
        b"\x00movieId,tagId,relevance\n1,1,0.5\n1,2,.25\n9,1,0\n9,2,1\n"
        + CUT
        + b'tagId,tag\n1,noir\n2,"a,b"\n',
        b"\x011\t1\t0.5\n1\t2\t1\n" + CUT + b"1\tnoir\t5\n2\tcats\t7\n",
        b"\x00movieId,tagId,relevance\r\n1,1,0.5\r\n" + CUT + b"tagId,tag\r\n1,\xc3\xa9\r\n",
    ]


if __name__ == "__main__":
    oracle.main("genome", target, seeds())
