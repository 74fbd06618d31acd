# SPDX-License-Identifier: Apache-2.0
"""Rounds of gradmark comm allreduce beside what measures the same library elsewhere, for scripts/measure collectives --peers.

  C1  A round launches each of a pair once, one after the other; who is first alternates. Ratios are taken within rounds.
  C2  Both use the same memory again and again, in huge pages, of a malloc that keeps what is freed (GLIBC_TUNABLES of the caller). Compared is what is alike: in place beside PyTorch and nccl-tests, from one buffer to
      another beside osu_allreduce and mpi4py.
      Beside mpi4py only from 64 KiB on: of fewer bytes a call through Python takes longer than MPI's.
  C3  alike: the median of the ratios is within 20 %. differs: all ratios of 3 rounds or more are outside. Else: cannot tell.
"""

import argparse
import csv
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LEAST, MOST = 0.8, 1.2  # within 20 % of the peer's time
LEAST_ROUNDS, N_RANKS, LIMIT_S, LEAST_MPI4PY_BYTES = 3, 2, 300, 65536
PYTORCH, MPI4PY, OSU, NCCL_TESTS = "PyTorch", "mpi4py", "osu_allreduce", "nccl-tests"


class Failed(Exception):
    pass


def output_of(commands, env=None):
    """Of the first; they run at once."""
    ran = [subprocess.Popen(c, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ, **(e or {})))
           for c, e in zip(commands, env or [None] * len(commands))]
    try:
        said = [p.communicate(timeout=LIMIT_S) for p in ran]
    except subprocess.TimeoutExpired:
        raise Failed("%s: not through after %d s" % (commands[0][0], LIMIT_S)) from None
    finally:
        for p in ran:
            if p.poll() is None:
                p.kill()
    for p, (_, err) in zip(ran, said):
        if p.returncode != 0:
            raise Failed("%s: exit code %d: %s" % (" ".join(p.args[:4]), p.returncode, (err.strip().splitlines() or ["it says nothing"])[-1]))
    return said[0][0]


def gradmark(options, library, key):
    more = ["--compute", "cuda"] if library == "nccl" else ["--compute", "cpu"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "r.jsonl")
        output_of([["mpirun", "-np", str(N_RANKS), options.program, "comm", "allreduce", "--reducer", library, "--rotate-bytes", "0", "--bytes", options.bytes,
                    "--budget-s", str(options.budget_s), "--records", path] + more])
        records = [json.loads(line) for line in open(path)]
    return {r["bytes_count"]: r[key] for r in records if r["kind"] == "row"}, records[0]


def columns(text, n_key, n_value):
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return {int(r[n_key]): float(r[n_value]) for r in rows if len(r) > max(n_key, n_value)}


def peer(options, name, sizes):
    listed = ",".join(map(str, sizes))
    most = str(max(sizes))
    if name == PYTORCH:
        with tempfile.TemporaryDirectory() as folder:
            env = [{"RANK": str(r), "WORLD_SIZE": str(N_RANKS), "MEET": os.path.join(folder, "meet"), "GLOO_SOCKET_IFNAME": "lo"}
                   for r in range(N_RANKS)]
            return columns(output_of([[options.peers, os.path.join(HERE, "allreduce"), "torch", listed]] * N_RANKS, env), 0, 1)
    if name == MPI4PY:
        return columns(output_of([["mpirun", "-np", str(N_RANKS), options.peers, os.path.join(HERE, "allreduce"), "mpi4py", listed]]), 0, 1)
    if name == OSU:
        took = columns(output_of([["mpirun", "-np", str(N_RANKS), options.osu, "-m", most]]), 0, 1)
    else:
        took = columns(output_of([[options.nccl_tests, "-b", str(min(sizes)), "-e", most, "-f", "2", "-g", str(N_RANKS)]]), 0, -4)
    return {n: us * 1e-6 for n, us in took.items()}


def version_of(python, name):
    """None: it is not there."""
    said = subprocess.run([python, "-c", "import %s; print(%s.__version__)" % (name, name)], capture_output=True, text=True)
    return said.stdout.strip() if said.returncode == 0 else None


def count_gpus():
    if not shutil.which("nvidia-smi"):
        return 0
    return subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout.count("UUID")


def pairs_of(options, say):
    """[(library, peer, key of gradmark's record)]: those that can run here; and versions. What cannot is told."""
    out = []
    about = subprocess.run([options.program, "info"], capture_output=True, text=True).stdout
    versions = {name: version_of(options.peers, name) for name in ("torch", "mpi4py")}
    reducers = next((line.split()[1:] for line in about.splitlines() if line.startswith("reducers ")), [])
    wanted = [("gloo", PYTORCH, "time_s", versions["torch"] is not None, "%s has no torch: pip install torch" % options.peers),
              ("mpi", MPI4PY, "out_of_place_time_s", versions["mpi4py"] is not None, "%s has no mpi4py: pip install mpi4py" % options.peers),
              ("mpi", OSU, "out_of_place_time_s", bool(options.osu),
               "no package of Debian or PyPI has it; --osu FILE names an osu_allreduce that you built"),
              ("nccl", NCCL_TESTS, "time_s", options.nccl_tests and count_gpus() >= N_RANKS,
               "there are %d GPUs, and %d are needed; --nccl-tests FILE names all_reduce_perf" % (count_gpus(), N_RANKS))]
    for library, name, key, can, why in wanted:
        if library not in reducers:
            say("%s beside %s: not run: this program has no reducer %s" % (library, name, library))
        elif not can:
            say("%s beside %s: not run%s: %s" % (library, name, " on a GPU" if library == "nccl" else "", why))
        else:
            out.append((library, name, key))
    return out, versions


def verdict(ratios):
    """C3"""
    if LEAST <= statistics.median(ratios) <= MOST:
        return "alike"
    if len(ratios) >= LEAST_ROUNDS and (min(ratios) > MOST or max(ratios) < LEAST):
        return "differs"
    return "cannot tell"


def table(rows):
    """rows: round, library, peer, bytes, gradmark's s, the peer's s. Text, and how many differ."""
    out = ["%-8s %-14s %10s %12s %12s  %-26s %s" % ("library", "beside", "bytes", "gradmark us", "peer us", "ratio (least to most)", "verdict")]
    n_differ = 0
    for key in dict.fromkeys((r[1], r[2], r[3]) for r in rows):
        of = [r for r in rows if (r[1], r[2], r[3]) == key]
        ratios = [r[4] / r[5] for r in of]
        said = verdict(ratios)
        n_differ += said == "differs"
        out.append("%-8s %-14s %10d %12.1f %12.1f  %-26s %s" % (
            *key, 1e6 * statistics.median(r[4] for r in of), 1e6 * statistics.median(r[5] for r in of),
            "%.2f (%.2f to %.2f)" % (statistics.median(ratios), min(ratios), max(ratios)), said))
    return out, n_differ


def main():
    parser = argparse.ArgumentParser()
    for name in ("--program", "--peers", "--osu", "--nccl-tests", "--bytes", "--budget-s", "--rounds"):
        parser.add_argument(name)
    options = parser.parse_args()
    notes, rows, manifest = [], [], {}
    sizes = [size_of(word) for word in options.bytes.split(",")]

    def say(text):
        notes.append(text)
        print("measure collectives: " + text, file=sys.stderr)
    try:
        pairs, versions = pairs_of(options, say)
        if not pairs:
            raise Failed("no library can be measured beside a peer here")
        for number in range(1, int(options.rounds) + 1):
            for library, name, key in pairs:
                print("measure collectives: round %d: %s beside %s" % (number, library, name), file=sys.stderr)
                took = {}
                for side in (0, 1) if number % 2 else (1, 0):  # C1
                    if side == 0:
                        took["own"], manifest = gradmark(options, library, key)
                    else:
                        took["peer"] = peer(options, name, sizes)
                rows += [(number, library, name, n, s, took["peer"][n]) for n, s in took["own"].items()
                         if n in took["peer"] and (name != MPI4PY or n >= LEAST_MPI4PY_BYTES)]
    except Failed as why:
        sys.exit("measure collectives: %s" % why)
    with open("rounds.csv", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([("round", "library", "peer", "bytes", "gradmark_s", "peer_s")] + rows)
    with open("manifest.json", "w") as f:
        kept = {name: getattr(options, name) for name in ("bytes", "budget_s", "rounds")}
        manifest.get("options", {}).pop("records", None)
        json.dump({"kind": "comm_check_peers", "options": kept, "versions": versions, "not_run": notes, "load_average": os.getloadavg(),
                   "scheduling_policy": os.sched_getscheduler(0), "kernel": platform.release(), "gradmark": manifest}, f, indent=1)
    lines, n_differ = table(rows)
    print("\n".join(lines + notes))
    sys.exit(1 if n_differ else 0)


def size_of(word):
    for unit, factor in (("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)):
        if word.endswith(unit):
            return int(word[:-2]) * factor
    return int(word)


if __name__ == "__main__":
    main()
