#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The records and the arithmetic of scripts/measure pytorch, with nothing but the standard library.

  versus.py report FOLDER              FOLDER/launches.csv -> FOLDER/table.txt, also printed; of a campaign that still runs, too
  versus.py readme FOLDER              the same in Markdown, as the top README has it
  versus.py readme FOLDER README       puts it there, between the lines <!-- versus_pytorch ... --> and <!-- /versus_pytorch -->
  versus.py readme --check README      is it that of the folder which the first of these lines names?

Called by the script:
  versus.py manifest KEY=VALUE ... < LINES               what each PyTorch says of itself, a line each -> the manifest
  versus.py options FOLDER                               the options of a campaign: NAME=VALUE lines
  versus.py resume FOLDER MANIFEST                       is the campaign of MANIFEST the same? what is without its pair goes
  versus.py plan FOLDER pilot|rounds                     the launches that are left, a line each
  versus.py choose FOLDER                                pilot.csv -> layouts.json: the better layout of each PyTorch
  versus.py left FOLDER                                  how many launches are left, and how long they will take
  versus.py add FOLDER FILE ROUND MODEL THREADS PRECISION SIDE VERSION LAYOUT RECORDS OTHERS_CORES LAUNCH_S
"""

import json
import os
import platform
import statistics
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import findings  # noqa: E402
from campaign import FIELDS, Campaign, append, cell_of, file_of, json_of, refuse, rows_of, text_of, write_json  # noqa: E402

OPTIONS = ("models", "threads", "precisions", "compute", "batch", "image_size", "steps", "rounds", "pilot_rounds", "cores",
           "layouts", "python", "program", "seed")
SAME = OPTIONS + ("program_sha256", "scripts_sha256", "cpu_model", "environment", "transparent_hugepage")  # of one campaign
TUNING = ("OMP_", "OPENBLAS_", "MKL_", "KMP_", "DNNL_", "ONEDNN_")  # variables of the environment


def ends_of(side, path):
    """Ends of the steps, in seconds from the first start, and the last loss."""
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines if line.startswith("{")]
    if side == "pytorch":
        return records[-1]["end_s"], records[-1]["loss"][-1]
    steps = [r for r in records if r["kind"] == "step"]
    return [r["wall_s"] for r in steps], steps[-1]["loss"]


def add(folder, file, i, model, threads, precision, side, version, layout, records, others_cores, launch_s):
    m = Campaign(folder).manifest
    ends, loss = ends_of(side, records)
    all_steps = [b - a for a, b in zip([0.0] + ends, ends)]
    n_warmup = int(m["warmup_steps" if side == "gradmark" else "warmup_steps_pytorch"])
    seconds = all_steps[n_warmup:]
    if not seconds:
        refuse("%s: %d steps are no more than the %d of warm-up" % (records, len(ends), n_warmup))
    step_s = statistics.median(seconds)
    images_per_s = "%.6g" % (int(m["batch"]) / step_s)
    append(os.path.join(folder, file), [dict(zip(FIELDS, (
        i, model, threads, precision, side, version, layout, m["batch"], m["steps"], images_per_s, "%.6g" % step_s,
        "%.6g" % (float("nan") if loss is None else loss), others_cores, launch_s, " ".join("%.5g" % s for s in all_steps))))])
    who = side if side == "gradmark" else "PyTorch %s %s" % (version, layout)
    print("%s %s, %s threads, %s, %s: %.4g images/s" % (
        "pilot" if file == "pilot.csv" else "round", i, threads, model + " " + precision, who, float(images_per_s)))


def cpu_model():
    for line in (text_of("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return None


def manifest(*pairs):
    out = dict(pair.split("=", 1) for pair in pairs)
    out["date_utc"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    out["host"], out["kernel"], out["cpu_model"] = platform.node(), platform.release(), cpu_model()
    out["cores_count"] = os.cpu_count()
    out["transparent_hugepage"] = text_of("/sys/kernel/mm/transparent_hugepage/enabled")
    out["environment"] = {k: v for k, v in os.environ.items() if k.startswith(TUNING)}
    out["pytorch"] = [json.loads(line) for line in sys.stdin]
    for python, about in zip(out["python"].split(","), out["pytorch"]):
        about["python"], about["version"] = python, about["torch"].split("+")[0]
    versions = [about["version"] for about in out["pytorch"]]
    if len(set(versions)) < len(versions):
        refuse("--python: two of them have PyTorch %s" % max(versions, key=versions.count))
    json.dump(out, sys.stdout, indent=1)
    print()


def options(folder):
    m = Campaign(folder).manifest
    for name in OPTIONS:
        print("%s=%s" % (name, m[name]))


def resume(folder, new_path):
    c, new = Campaign(folder), json_of(new_path)
    old = c.manifest
    for m in (old, new):
        m["pytorch_versions"] = [(p["torch"], p.get("config")) for p in m["pytorch"]]
    for key in SAME + ("pytorch_versions",):
        if old[key] != new[key]:
            refuse("%s: %s is not what it was when the campaign began: %.120s, now %.120s" % (folder, key, old[key], new[key]))
    del old["pytorch_versions"]
    old.setdefault("resumed", []).append({k: new[k] for k in ("date_utc", "host", "kernel")})
    write_json(c.path("manifest.json"), old)
    for stage in ("pilot", "rounds"):  # V1: half a block is of another time than what is to come
        unfinished = {(i, cell) for i, cell, _ in c.left(stage)}
        rows = rows_of(c.path(file_of(stage)))
        lost = [r for r in rows if (r["round"], cell_of(r)) in unfinished]
        if lost and (stage == "rounds" or c.chosen is None):
            append(c.path("unpaired.csv"), lost)
            append(c.path("again.csv"), [r for r in rows if r not in lost])
            os.replace(c.path("again.csv"), c.path(file_of(stage)))


def plan(folder, stage):
    c = Campaign(folder)
    for i, cell, (side, version, layout) in c.left(stage):
        print(i, *cell, side, version, layout, c.versions.index(version) if side == "pytorch" else "-")


def choose(folder):
    """V2. The layout with more images/s, by the median over the pilot's rounds."""
    c = Campaign(folder)
    if not c.has_pilot or c.chosen is not None:
        return
    speeds, chosen = {}, {}
    for r in rows_of(c.path("pilot.csv")):
        speeds.setdefault((cell_of(r), r["pytorch"]), {}).setdefault(r["layout"], []).append(float(r["images_per_s"]))
    for cell in c.cells:
        chosen[" ".join(cell)] = {}
        for version in c.versions:
            medians = {k: statistics.median(v) for k, v in speeds.get((cell, version), {}).items()}
            if not medians:
                print("versus.py: %s: no launch of PyTorch %s in the pilot worked; it is left out" % (" ".join(cell), version),
                      file=sys.stderr)
                continue
            best = max(medians, key=medians.get)
            chosen[" ".join(cell)][version] = {"layout": best, "images_per_s": medians}
            print("pilot: %s, PyTorch %s: %s (%s images/s)" % (
                " ".join(cell), version, best, ", ".join("%s %.3g" % pair for pair in medians.items())))
    write_json(c.path("layouts.json"), chosen)


def left(folder):
    """A launch takes as long as those of its cell and program, those of its cell, or all others did on average."""
    c = Campaign(folder)
    todo = c.left("pilot") + c.left("rounds")
    took = {}
    for r in rows_of(c.path("pilot.csv")) + rows_of(c.path("launches.csv")):
        for key in ((cell_of(r), r["pytorch"]), cell_of(r), "all"):
            took.setdefault(key, []).append(float(r["launch_s"]))
    text = "%d launches are left (%d cells, %d sides, %s rounds" % (
        len(todo), len(c.cells), len(c.sides(c.cells[0])), c.manifest["rounds"])
    if c.left("pilot"):
        text += " behind a pilot of %s" % c.manifest["pilot_rounds"]
    text += ")"
    if took:
        keys = (((cell, side[1]), cell, "all") for _, cell, side in todo)
        text += "; about %.2g min" % (sum(statistics.fmean(next(took[k] for k in three if k in took)) for three in keys) / 60)
    print("measure pytorch: %s" % text)


COMMANDS = {"add": add, "manifest": manifest, "options": options, "resume": resume, "plan": plan, "choose": choose, "left": left,
            "report": findings.report}


def main():
    what, args = (sys.argv + [""])[1], sys.argv[2:]
    if what == "readme" and len(args) == 2:
        findings.readme_check(args[1]) if args[0] == "--check" else findings.readme_into(*args)
    elif what == "readme" and len(args) == 1:
        print(findings.readme(args[0]), end="")
    elif what in COMMANDS:
        COMMANDS[what](*args)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
