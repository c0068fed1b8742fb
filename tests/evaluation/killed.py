"""A run on the command line that is killed in the middle."""

import os
import signal
import subprocess
import sys
import time

from prefmover.evaluation import Experiment


def killed_run(experiment, folder, at_least):
    """Run an experiment, kill it (SIGKILL) after some records; return its folder and how many it saved."""
    config, run = folder / "experiment.toml", folder / "run"
    config.write_text(experiment.to_toml())
    assert Experiment.read(config) == experiment
    command = [sys.executable, "-m", "prefmover.cli", "evaluate", "--config", str(config), "--out", str(run)]
    process = subprocess.Popen([*command, "--threads", "1", "--no-report"], stderr=subprocess.DEVNULL)
    records = run / "records"
    try:
        while not records.exists() or len(list(records.glob("*.json"))) < at_least:
            assert process.poll() is None
            time.sleep(0.005)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    return run, len(list(records.glob("*.json")))


def lasting(records):
    """Return the records without the part that may differ from run to run."""
    return {record.key: record.model_dump(exclude={"run"}) for record in records}
