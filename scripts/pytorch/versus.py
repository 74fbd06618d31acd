# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of scripts/versus_pytorch, with nothing but the standard library.

  versus.py row gradmark|pytorch FILE BATCH N_WARMUP    images/s and step time of one launch: "images_per_s,step_s,loss"
  versus.py manifest KEY=VALUE ... < JSON               the manifest, with what PyTorch says of itself
  versus.py report FOLDER                               FOLDER/launches.csv -> FOLDER/table.txt, also printed
"""

import csv
import json
import os
import platform
import statistics
import sys
import time


def ends_of(side, path):
    """Ends of the steps, in seconds from the first start, and the last loss."""
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.startswith("{")]
    if side == "pytorch":
        return records[-1]["end_s"], records[-1]["loss"][-1]
    steps = [r for r in records if r["kind"] == "step"]
    return [r["wall_s"] for r in steps], steps[-1]["loss"]


def row(side, path, batch, n_warmup):
    ends, loss = ends_of(side, path)
    seconds = [b - a for a, b in zip([0.0] + ends, ends)][n_warmup:]
    if not seconds:
        sys.exit("versus.py: %s: %d steps are no more than the %d of warm-up" % (path, len(ends), n_warmup))
    step_s = statistics.median(seconds)
    print("%.6g,%.6g,%.6g" % (batch / step_s, step_s, float("nan") if loss is None else loss))


def text_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def cpu_model():
    for line in (text_of("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return None


def manifest(pairs):
    out = dict(pair.split("=", 1) for pair in pairs)
    out["date_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    out["host"], out["kernel"], out["cpu_model"] = platform.node(), platform.release(), cpu_model()
    out["cores_count"] = os.cpu_count()
    out["transparent_hugepage"] = text_of("/sys/kernel/mm/transparent_hugepage/enabled")
    out["environment"] = {k: v for k, v in os.environ.items() if k.startswith(("OMP_", "OPENBLAS_", "MKL_", "KMP_", "DNNL_", "ONEDNN_"))}
    out["pytorch"] = json.load(sys.stdin)
    json.dump(out, sys.stdout, indent=1)
    print()


def spread(values):
    return "%.3g (%.3g to %.3g)" % (statistics.median(values), min(values), max(values))


def notes(manifest):
    """What is not the same on both sides; stands below the table."""
    out = ["Warm-up: gradmark %s steps after the gradients with which it measures the machine, PyTorch %s steps; PyTorch's layout: %s."
           % (manifest["warmup_steps"], manifest["warmup_steps_pytorch"], manifest["layout"]),
           "gradmark asks for huge pages, PyTorch has the system's setting: %s." % (manifest["transparent_hugepage"] or "unknown")]
    if manifest["compute"] == "cuda":
        out.append("gradmark makes and uploads the images of every step; PyTorch's lie on the GPU beforehand.")
    if manifest["git_commit"] != manifest["scripts_git_commit"]:
        out.append("The program was built at commit %s, the scripts are of %s." % (manifest["git_commit"], manifest["scripts_git_commit"]))
    return out


def report(folder):
    cases, others = {}, [0.0]
    with open(os.path.join(folder, "launches.csv"), encoding="utf-8") as file:
        for r in csv.DictReader(file):
            others.append(float(r["others_cores"]))
            case = cases.setdefault((r["model"], r["threads"], r["precision"]), {})
            case.setdefault(r["round"], {})[r["side"]] = float(r["images_per_s"])
    lines = ["%-12s %7s %-9s %-28s %-28s %-24s %s" % ("model", "threads", "precision", "gradmark images/s", "PyTorch images/s", "gradmark / PyTorch", "rounds")]
    for (model, threads, precision), rounds in cases.items():
        pairs = [r for r in rounds.values() if len(r) == 2]
        if not pairs:
            continue
        ours, theirs = [p["gradmark"] for p in pairs], [p["pytorch"] for p in pairs]
        lines.append("%-12s %7s %-9s %-28s %-28s %-24s %d" % (
            model, threads, precision, spread(ours), spread(theirs), spread([a / b for a, b in zip(ours, theirs)]), len(pairs)))
    lines.append("Each figure: the median over rounds (least to greatest); a round is one launch of each side, one after the other,")
    lines.append("in turns first; a launch counts by the median of its steps after warm-up; the ratio is taken in each round.")
    lines.append("Other programs used up to %.2f cores during a launch%s." % (
        max(others), ": measure again on a quiet machine" if max(others) > 0.1 else ""))
    lines += notes(json.loads(text_of(os.path.join(folder, "manifest.json"))))
    with open(os.path.join(folder, "table.txt"), "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    print("\n".join(lines))


def main():
    what, args = sys.argv[1], sys.argv[2:]
    if what == "row":
        row(args[0], args[1], int(args[2]), int(args[3]))
    elif what == "manifest":
        manifest(args)
    elif what == "report":
        report(args[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
