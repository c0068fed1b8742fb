"""``python -m tools.soak``: random problems until a number of problems or minutes is reached.

Batches are seeded one by one: ``--start N`` continues a run that was stopped, and a failure names its batch.
About three of ten problems are masses and costs, the others are users. Each round also compares pruned
searches with exhaustive ones.
"""

import argparse
import sys
import time

from tools.soak.run import batch
from tools.soak.tally import Tally

REPORT_EVERY = 10.0  # seconds
USERS = 2  # batches of users for each round
SEARCHES = 3


def main(arguments=None):
    """Run, print the tally, and exit with 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--problems", type=int, default=1_000_000, help="[1,000,000]")
    parser.add_argument("--minutes", type=float, default=60.0, help="time limit [60]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--start", type=int, default=0, help="first round [0]")
    options = parser.parse_args(arguments)
    begin = reported = time.monotonic()
    tally, number = Tally(), options.start
    while tally.problems < options.problems and time.monotonic() - begin < 60 * options.minutes:
        for part in one_round(options.seed, number):
            tally.add(part)
        number += 1
        if time.monotonic() - reported >= REPORT_EVERY:
            reported = time.monotonic()
            print(f"{reported - begin:6.0f} s, round {number}: {tally}", flush=True)
    print(f"\nseed {options.seed}, rounds {options.start} to {number - 1}, {time.monotonic() - begin:.0f} s")
    print(tally)
    print(f"POT gave up on {tally.gave_up:,}; errors are of the largest cost")
    for failure in tally.failures:
        print(f"FAILED {failure}")
    if tally.problems < options.problems:
        print(f"stopped by --minutes; --start {number} goes on")
    return 1 if tally.failed else 0


def one_round(seed, number, largest=300):
    """Yield the tallies of one round: costs, users, searches."""
    yield batch("costs", seed, number, largest)
    for part in range(USERS):
        yield batch("users", seed, USERS * number + part, largest)
    for part in range(SEARCHES):
        yield batch("search", seed, SEARCHES * number + part, largest)


if __name__ == "__main__":
    sys.exit(main())
