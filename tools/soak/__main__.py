"""``python -m tools.soak``: random problems until the time or the number is up, or somebody is wrong.

Batches are seeded one by one: ``--start N`` goes on where a run was stopped, and a failure names its batch.
Of every ten problems some three are masses and costs, the others users; every so often pruned searches are
compared with exhaustive ones.
"""

import argparse
import sys
import time

from tools.soak.run import batch
from tools.soak.tally import Tally

SAY_EVERY = 10.0  # seconds
PEOPLE = 2  # batches of users for each round
SEARCHES = 3


def main(arguments=None):
    """Run, print the tally, and exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--problems", type=int, default=1_000_000, help="[1,000,000]")
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so many [60]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="the first round [0]")
    options = parser.parse_args(arguments)
    begin = said = time.monotonic()
    tally, number = Tally(), options.start
    while tally.problems < options.problems and time.monotonic() - begin < 60 * options.minutes:
        for found in one_round(options.seed, number):
            tally.add(found)
        number += 1
        if time.monotonic() - said >= SAY_EVERY:
            said = time.monotonic()
            print(f"{said - begin:6.0f} s, round {number}: {tally}", flush=True)
    print(f"\nseed {options.seed}, rounds {options.start} to {number - 1}, {time.monotonic() - begin:.0f} s")
    print(tally)
    print(f"POT gave up on {tally.gave_up:,}; errors and gaps are of the largest cost")
    for failure in tally.failures:
        print(f"FAILED {failure}")
    if tally.problems < options.problems:
        print(f"stopped by --minutes; --start {number} goes on")
    return 1 if tally.failed else 0


def one_round(seed, number, largest=300):
    """Yield the tallies of one round: costs, users, searches."""
    yield batch("costs", seed, number, largest)
    for part in range(PEOPLE):
        yield batch("people", seed, PEOPLE * number + part, largest)
    for part in range(SEARCHES):
        yield batch("search", seed, SEARCHES * number + part, largest)


if __name__ == "__main__":
    sys.exit(main())
