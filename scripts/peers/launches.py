# SPDX-License-Identifier: Apache-2.0
"""One launch of a side of scripts/measure horovod: what is started, and what its records say."""

import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import time

from environments import TRAIN, last_line, python_of

sys.path.insert(0, os.path.join(os.path.dirname(TRAIN), "..", "pytorch"))
from paired import Comparison  # noqa: E402

N_WORKERS = 2
PEER_OF = {"horovod-mpi": "horovod", "horovod-gloo": "horovod", "ddp-gloo": "torch"}  # its environment
SIDES = ("gradmark-threads", "gradmark-mpi") + tuple(PEER_OF)
LAYOUTS = ("contiguous", "channels-last")
LIMIT_S = 3600  # of a launch
MPIRUN = ["mpirun", "-np", str(N_WORKERS), "--bind-to", "none"]
HOROVODRUN = "from horovod.runner.launch import run_commandline; run_commandline()"
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Failed(Exception):
    pass


def gradmark_command(m, model, batch, side, records):
    """m: the manifest."""
    n_steps = 2 * int(m["turn"]) * (int(m["pairs"]) + 1)  # the first pair is warm-up
    world = side.split("-")[1]
    command = ["taskset", "-c", m["cores"]] + (MPIRUN if world == "mpi" else []) + [m["program"], "train", "--world", world]
    command += [] if world == "mpi" else ["--workers", str(N_WORKERS)]
    command += ["--model", model, "--mode", "allreduce", "--reducer", "shm", "--compute", "cpu", "--batch", batch, "--threads", "1",
                "--precision", "fp32", "--steps", str(n_steps), "--alternate-exchange", m["turn"], "--eval-samples", "0",
                "--momentum", "0.9", "--lr", "0.001", "--no-lines", "--data", "synthetic", "--out", records]
    return command + ([] if m["image_size"] == "published" else ["--image-size", m["image_size"]])


def peer_commands(m, model, batch, side, layout, records):
    python = python_of(m["peers"], PEER_OF[side])
    train = [python, TRAIN, "--exchange", side.split("-")[0], "--model", model, "--batch", batch, "--layout", layout, "--turn", m["turn"],
             "--pairs", m["pairs"], "--cores", m["cores"], "--meet", records + ".meet", "--out", records]
    train += [] if m["image_size"] == "published" else ["--image-size", m["image_size"]]
    if side == "ddp-gloo":
        return [train + ["--rank", str(i)] for i in range(N_WORKERS)]
    if side == "horovod-mpi":
        return [MPIRUN + train]
    return [[python, "-c", HOROVODRUN, "--gloo", "-np", str(N_WORKERS), "-H", "localhost:%d" % N_WORKERS, "--network-interfaces", "lo"]
            + train]


def environment_of(m, side, cycle):
    """What --waiting tuned means is here and in the help text."""
    out = dict(ROOT_MAY, GLOO_SOCKET_IFNAME="lo", PYTHONDONTWRITEBYTECODE="1")
    if PEER_OF.get(side) == "horovod":
        how = side.split("-")[1]
        out.update(HOROVOD_CONTROLLER=how, HOROVOD_CPU_OPERATIONS=how)
        if m["waiting"] == "tuned":
            out.update(HOROVOD_CYCLE_TIME=cycle, HOROVOD_STALL_CHECK_DISABLE="1", OMPI_MCA_mpi_yield_when_idle="1")
    return out


def commands_of(m, model, batch, side, layout, records):
    if side not in PEER_OF:
        return [gradmark_command(m, model, batch, side, records)]
    return peer_commands(m, model, batch, side, layout, records)


# --- running ---

def busy_s():
    """Seconds that all cores together were busy so far, or taken by another guest."""
    with open("/proc/stat", encoding="ascii") as lines:
        ticks = [int(word) for word in lines.readline().split()[1:]]
    return (sum(ticks[i] for i in (0, 1, 2, 5, 6, 7))) / os.sysconf("SC_CLK_TCK")


def own_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def end(started):
    """What still runs: launchers end their workers when they are asked to."""
    for process in started:
        if process.poll() is None:
            process.terminate()
    for process in started:
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def run(commands, env, said):
    """Runs all of them at once, to the file said; (cores that others used meanwhile, seconds it took)."""
    before, own_before, start = busy_s(), own_s(), time.monotonic()
    started = []
    try:
        with open(said, "w", encoding="utf-8") as log:
            for command in commands:
                started.append(subprocess.Popen(command, env=dict(os.environ, **env), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                start_new_session=True))
        left = list(started)
        while left:
            codes = [process.poll() for process in left]
            if any(codes):
                raise Failed("exit code %d" % next(filter(None, codes)))
            left = [process for process, code in zip(left, codes) if code is None]
            if time.monotonic() - start > LIMIT_S:
                raise Failed("more than %d s" % LIMIT_S)
            time.sleep(0.1 if left else 0)
    finally:
        end(started)
    took = time.monotonic() - start
    return max(0.0, (busy_s() - before - own_s() + own_before) / took), took


# --- records ---

def peer_figures(path, n_images):
    """keeps, low, high, images/s with and without exchange, turns in seconds (worker+worker/the same without); n_images: of a
    worker and turn.

    A turn's speed is the sum of what each worker had in its own time: without exchange nobody waits for another.
    """
    with open(path, encoding="utf-8") as file:
        pairs = json.loads(file.readline())["pairs"]
    speeds = [[sum(n_images / s for s in seconds) for seconds in pair] for pair in pairs]
    x = Comparison([pair[0] for pair in speeds], [pair[1] for pair in speeds])
    text = " ".join("/".join("+".join("%.5g" % s for s in seconds) for seconds in pair) for pair in pairs)
    middle = [statistics.geometric_mean(pair[i] for pair in speeds) for i in (0, 1)]
    return (x.ratio, x.low, x.high) + tuple(middle) + (text,)


def is_alone(turn, step):
    """harness/train/alternation.c: the second turn of pairs 0, 2, ..., the first of the others."""
    return (step // turn) % 2 != (step // turn // 2) % 2


def gradmark_figures(path, turn, n_images):
    """The same; what is kept is gradmark's own figure, over pairs of turns (train.W1). Instead of the turns: ends of steps.

    Workers meet between turns: a step's seconds come from where its turn's first step ended to where its last did.
    """
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.startswith("{")]
    summary = records[-1]
    ends = [r["wall_s"] for r in records if r["kind"] == "step"]
    if summary["kind"] != "summary" or summary["alternating_turn_steps_count"] != turn or turn < 2:
        raise ValueError("its summary is not of turns of %d steps" % turn)
    firsts = [i for i in range(2 * turn, len(ends), turn) if not is_alone(turn, i)]  # the first pair is warm-up
    step_s = statistics.geometric_mean([(ends[i + turn - 1] - ends[i]) / (turn - 1) for i in firsts])
    speed = N_WORKERS * n_images / turn / step_s
    keeps = [summary["exchange_keeps" + name + "_ratio"] for name in ("", "_low", "_high")]
    return tuple(keeps) + (speed, speed / keeps[0], " ".join("%.6g" % end for end in ends))


def figures_of(side, path, turn, batch):
    return peer_figures(path, turn * batch) if side in PEER_OF else gradmark_figures(path, turn, turn * batch)


def failure_text(why, said):
    with open(said, encoding="utf-8", errors="replace") as file:
        text = file.read()
    lines = [line for line in text.splitlines() if "Error" in line or re.match(r"(\[[0-9]+\]<stderr>:)?(train|gradmark[a-z ]*): ", line)]
    return "%s: %s" % (why, lines[-1] if lines else last_line(text))
