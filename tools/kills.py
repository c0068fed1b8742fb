"""Kill jobs at random moments, and at every step of theirs between two operations on files.

``python -m tools.kills`` kills each job of ``tests/reliability/jobs.py`` a hundred times by SIGKILL at a
random moment of its work. After each kill a reader looks at what is there; then the job is started again, and
killed again or left to end, which must leave what a run that nobody disturbed leaves. Then each job is killed
once before every operation on a file in its folder (as Python's audit events tell them), which no random
moment is sure to hit.

A process that has loaded everything forks one for each run, so that hundreds of runs take a minute or two.
Last, each job is started a few times as a new process with an empty cache of compiled code, and killed at a
random moment from its first instruction on: while Python starts, imports and compiles, too.
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

AGAIN = 0.3  # of the kills are followed by another one
FILE_EVENTS = ("open", "os.", "shutil.", "tempfile.")


class Child:
    """A forked process that runs ``work(mark)``; its marks and its answer come back through a pipe."""

    def __init__(self, work):
        reader, writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            os.close(reader)
            code = 1
            try:
                answer = work(lambda name: os.write(writer, f"{name}\n".encode()))
                os.write(writer, f"answer {answer}\n".encode())
                code = 0
            except BaseException:
                os.write(writer, f"failed {traceback.format_exc()!r}\n".encode())
            finally:
                os._exit(code)
        os.close(writer)
        self.pipe = os.fdopen(reader, encoding="utf-8")

    def wait_for(self, name):
        """Wait until the child marks a point; return whether it did."""
        return any(line.strip() == name for line in self.pipe)

    def end(self, after=None):
        """Wait for the end, or kill after so many seconds; return (was killed, last line)."""
        if after is not None:
            time.sleep(after)
            os.kill(self.pid, signal.SIGKILL)
        lines = self.pipe.read().splitlines()
        self.pipe.close()
        _, status = os.waitpid(self.pid, 0)
        return os.WIFSIGNALED(status), lines[-1] if lines else ""


def answer_of(work):
    """Run something in a child to its end and return what it returns, as text."""
    killed, line = Child(lambda mark: work()).end()
    if killed or not line.startswith("answer "):
        raise AssertionError(line.encode().decode("unicode_escape") or "ended without a word")
    return line.removeprefix("answer ")


class Trial:
    """One job, its reference, and kills of it."""

    def __init__(self, job, home, seed):
        self.job, self.home, self.rng = job, home, random.Random(f"{seed} {job.name}")
        self.number, self.kills, self.seen_after = 0, 0, Counter()
        folder = self.new_folder()
        before = answer_of(lambda: job.seen(folder)) if folder.exists() else "nothing"
        self.seconds = self._times(folder)
        after = answer_of(lambda: job.seen(folder))
        self.states = {"the old": before, "the new": after}
        self.outcome = answer_of(lambda: job.outcome(folder))
        if hasattr(job, "expected"):
            assert answer_of(lambda: job.expected(folder)) == self.outcome

    def new_folder(self):
        """Return a folder with the older state."""
        self.number += 1
        folder = self.home / f"{self.job.name.replace(' ', '-')}-{self.number}"
        answer_of(lambda: self.job.prepare(folder))
        return folder

    def _times(self, folder):
        """Return how long it takes from each mark to the end, undisturbed."""
        child, begun = Child(lambda mark: self.job.work(folder, mark)), {}
        for name in self.job.starts:
            assert child.wait_for(name)
            begun[name] = time.monotonic()
        killed, line = child.end()
        assert not killed
        assert line.startswith("answer"), line
        return {name: time.monotonic() - at for name, at in begun.items()}

    def random_kills(self, wanted):
        """Kill so often, at random moments; children that ended before do not count."""
        while self.kills < wanted:
            folder = self.new_folder()
            while self.kills < wanted:
                start = self.rng.choice(self.job.starts)
                child = Child(lambda mark, folder=folder: self.job.work(folder, mark))
                child.wait_for(start)
                killed, line = child.end(after=self.rng.uniform(0, self.seconds[start]))
                assert killed or line.startswith("answer"), line
                self.kills += killed
                if not killed:  # timed while the machine was busy: aim shorter
                    self.seconds[start] *= 0.8
                self.look(folder)
                if not killed or self.rng.random() > AGAIN:
                    break
            self.finish(folder)

    def kill_at_steps(self, stride=1):
        """Kill before every operation on a file in the folder, one after the other; return how many."""
        step = 0
        while True:
            folder = self.new_folder()
            child = Child(lambda mark, folder=folder, step=step: self._work_until(folder, mark, step))
            killed, line = child.end()
            assert killed or line.startswith("answer"), line
            self.look(folder)
            self.finish(folder)
            if not killed:
                return step
            step += stride

    def _work_until(self, folder, mark, step):
        left, inside = step, str(folder)

        def watch(event, arguments):
            nonlocal left
            if event.startswith(FILE_EVENTS) and any(inside in str(a) for a in arguments):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(watch)
        self.job.work(folder, mark)

    def fresh_kills(self, wanted, cache):
        """Kill new processes, each with an empty cache of compiled code; return how many."""
        command = [sys.executable, "-m", "tools.kills", "--work", self.job.name]
        environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
        longest = None
        for _ in range(wanted + 1):
            folder = self.new_folder()
            begin = time.monotonic()
            process = subprocess.Popen([*command, str(folder)], env=environment)
            if longest is not None:
                time.sleep(self.rng.uniform(0, longest))
                process.kill()
            elif process.wait():
                raise AssertionError(f"{self.job.name} fails in a new process")
            longest = longest or time.monotonic() - begin
            process.wait()
            self.look(folder)
            if subprocess.run([*command, str(folder)], env=environment).returncode:
                raise AssertionError(f"{self.job.name} cannot be resumed in a new process")
            outcome = answer_of(lambda folder=folder: self.job.outcome(folder))
            assert outcome == self.outcome, f"{folder} ends differently"
            shutil.rmtree(cache, ignore_errors=True)
        return wanted

    def look(self, folder):
        """Check what a reader finds after a kill."""
        if not folder.exists():
            assert self.states["the old"] == "nothing", "what was there is gone"
            self.seen_after["nothing"] += 1
            return
        seen = answer_of(lambda: self.job.seen(folder))
        for name, state in self.states.items():
            if seen == state:
                self.seen_after[name] += 1
                return
        assert self.states["the old"] == "nothing", "neither the old nor the new was there"
        self.seen_after["a part"] += 1

    def finish(self, folder):
        """Run the job again to its end, and compare with the undisturbed."""
        answer_of(lambda: self.job.work(folder, lambda name: None))
        outcome = answer_of(lambda: self.job.outcome(folder))
        assert outcome == self.outcome, f"{folder} ends differently"


def main(arguments=None):
    """Kill all jobs and print what was seen."""
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads do not survive a fork
    parser = argparse.ArgumentParser(prog="python -m tools.kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of each job [100]")
    parser.add_argument("--stride", type=int, default=1, help="operations on files from one kill to the next")
    parser.add_argument("--fresh", type=int, default=5, help="kills of new processes, of each job [5]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", nargs=2, metavar=("JOB", "FOLDER"), help="run a job once, to its end")
    parser.add_argument("jobs", nargs="*", help="by name; all by default")
    options = parser.parse_args(arguments)

    from tests.reliability.jobs import JOBS, warm

    if options.work:
        name, folder = options.work
        JOBS[name].work(Path(folder), lambda name: None)
        return
    warm()
    with tempfile.TemporaryDirectory() as home:
        for name in options.jobs or JOBS:
            begin = time.monotonic()
            trial = Trial(JOBS[name], Path(home), options.seed)
            trial.random_kills(options.kills)
            steps = trial.kill_at_steps(options.stride)
            fresh = trial.fresh_kills(options.fresh, Path(home) / "compiled") if options.fresh else 0
            seen = ", ".join(f"{what} {count}" for what, count in sorted(trial.seen_after.items()))
            print(
                f"{name}: {trial.kills} random kills, {-(-steps // options.stride)} of {steps} steps, "
                f"{fresh} of new processes; "
                f"seen after: {seen}; every restart ended the same; {time.monotonic() - begin:.0f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
