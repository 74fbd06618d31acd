# SPDX-License-Identifier: Apache-2.0
"""What a campaign of scripts/measure pytorch found: a table as text, and in Markdown. campaign.V1 to V3."""

import os
import statistics
import textwrap

from campaign import GRADMARK, Campaign, cell_of, refuse, rows_of, side_of, text_of, write
from paired import Comparison, holds_together

ROUNDS_FOR_CLAIM = 10  # V3
QUIET_CORES = 0.1  # used by others during a launch


class Result:
    """One comparison: ours and theirs in images/s by round, x (paired), verdict."""

    def __init__(self, cell, version, layout, ours, theirs):
        self.cell, self.version, self.layout, self.ours, self.theirs = cell, version, layout, ours, theirs
        self.x, self.verdict = Comparison(ours, theirs), None


def interval_text(x):
    return "%.3f" % x.ratio if x.low is None else "%.3f (%.3f to %.3f)" % (x.ratio, x.low, x.high)


def holds_one(x):
    return x.low is None or float("%.3f" % x.low) <= 1 <= float("%.3f" % x.high)


def results_of(c):
    """By cell and side, in the plan's order; the verdicts of all of them together (V3)."""
    launches = {}
    for r in rows_of(c.path("launches.csv")):
        launches.setdefault((cell_of(r), side_of(r)), {})[r["round"]] = float(r["images_per_s"])
    out = []
    for cell in c.cells:
        ours = launches.get((cell, GRADMARK), {})
        for _, version, layout in (s for s in c.sides(cell) if s != GRADMARK):
            theirs = launches.get((cell, ("pytorch", version, layout)), {})
            rounds = [i for i in ours if i in theirs]
            if rounds:
                out.append(Result(cell, version, layout, [ours[i] for i in rounds], [theirs[i] for i in rounds]))
    tested = [r for r in out if r.x.n_pairs >= ROUNDS_FOR_CLAIM]
    for r, holds in zip(tested, holds_together([r.x.p for r in tested])):
        r.verdict = "cannot tell"
        if not holds_one(r.x):
            r.verdict += ": not sure enough for one of %d verdicts" % len(tested)
            if holds:
                r.verdict = "gradmark is %s" % ("faster" if r.x.ratio > 1 else "slower")
    for r in out:
        r.verdict = r.verdict or "%d rounds are needed for a claim" % ROUNDS_FOR_CLAIM
        if r.x.is_far:
            r.verdict += "; single rounds are far off, the median is %.3f" % r.x.robust
    return out


def number(value):
    """Three digits at least, and no exponent."""
    return "%.0f" % value if value >= 999.5 else "%.3g" % value


def spread(values):
    return "%s (%s to %s)" % (number(statistics.median(values)), number(min(values)), number(max(values)))


def notes(c):
    """What is not the same on both sides, and how the layouts were found."""
    m = c.manifest
    out = ["Warm-up: gradmark %s steps after the gradients with which it measures the machine, PyTorch %s; seed of the order: %s."
           % (m["warmup_steps"], m["warmup_steps_pytorch"], m["seed"]),
           "gradmark asks for huge pages, PyTorch has the system's setting: %s." % (m["transparent_hugepage"] or "unknown")]
    if c.has_pilot:
        out.append("PyTorch's layout: the one with more images/s in a pilot (pilot.csv, rounds: %s), which no ratio holds."
                   % m["pilot_rounds"])
    if m["compute"] == "cuda":
        out.append("gradmark makes and uploads the images of every step; PyTorch's lie on the GPU beforehand.")
    if m["git_commit"] != m["scripts_git_commit"]:
        out.append("The program was built at commit %s, the scripts are of %s." % (m["git_commit"], m["scripts_git_commit"]))
    return out


def others_text(c):
    others = [float(r["others_cores"]) for r in rows_of(c.path("launches.csv"))]
    n_loud = sum(o > QUIET_CORES for o in others)
    loud = ", more than %.1f during %d of %d: measure again on a quiet machine" % (QUIET_CORES, n_loud, len(others)) if n_loud else ""
    return "Other programs used up to %.2f cores during a launch%s." % (max(others), loud)


def rounds_text(c, results):
    least = min((r.x.n_pairs for r in results), default=0)
    planned = int(c.manifest["rounds"])
    return [] if least >= planned else [
        "Of %d planned rounds a comparison has %d: launches failed, or are still to come." % (planned, least)]


def report(folder):
    c = Campaign(folder)
    results = results_of(c)
    if not results:
        refuse("%s: there is no round with gradmark and a PyTorch yet" % folder)
    row = "%-10s %7s %-9s %-28s %-22s %-22s %-24s %-6s %s"
    lines = [row % ("model", "threads", "precision", "beside PyTorch", "gradmark images/s", "PyTorch images/s", "ratio (95 %)", "rounds",
                    "verdict")]
    for r in results:
        lines.append(row % (r.cell + ("%s %s" % (r.version, r.layout), spread(r.ours), spread(r.theirs), interval_text(r.x),
                                      r.x.n_pairs, r.verdict)))
    lines += ["images/s: the median over rounds (least to greatest); a launch counts by the median of its steps after warm-up.",
              "Ratio: the geometric mean of gradmark / PyTorch within rounds; interval: Student's t over the logarithms.",
              "Verdicts: those of %d rounds and more, %d, all together at 5 %% (Holm's correction)." % (
                  ROUNDS_FOR_CLAIM, sum(r.x.n_pairs >= ROUNDS_FOR_CLAIM for r in results)),
              others_text(c)]
    lines += rounds_text(c, results) + notes(c)
    write(c.path("table.txt"), "\n".join(lines) + "\n")
    print("\n".join(lines))


# --- Markdown ---

def joined(words):
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def table_lines(c, results):
    """A row per cell; two columns per PyTorch (V2: in its better layout) or per PyTorch and layout."""
    label = (lambda r: r.version) if c.has_pilot else (lambda r: "%s, %s" % (r.version, r.layout))
    columns, rows, layouts = [], {}, {}
    for r in results:
        if label(r) not in columns:
            columns.append(label(r))
        layouts.setdefault(label(r), set()).add(r.layout)
        rows.setdefault(r.cell, {})[label(r)] = r
    heads = ["PyTorch " + k + (", " + min(layouts[k]) if c.has_pilot and len(layouts[k]) == 1 else "") for k in columns]
    yield "| | threads | precision | gradmark | %s |" % " | ".join("%s | ratio (95 %%)" % h for h in heads)
    yield "|---|---:|---|---:|%s" % ("---:|---|" * len(columns))
    for cell, by_label in rows.items():
        line = "| %s | %s | %s | %s |" % (cell + (number(statistics.median(max((r.ours for r in by_label.values()), key=len))),))
        for k in columns:
            r = by_label.get(k)
            line += " | |" if not r else " %s%s | %s |" % (
                number(statistics.median(r.theirs)), " (%s)" % r.layout if len(layouts[k]) > 1 else "", interval_text(r.x))
        yield line


def wrapped(text):
    return textwrap.fill(text, 130, break_long_words=False, break_on_hyphens=False)


def cores_text(n):
    return "1 core" if int(n) == 1 else "%s cores" % n


def name_of(r):
    return "%s %s on %s beside %s %s" % (r.cell[0], r.cell[2], cores_text(r.cell[1]), r.version, r.layout)


def verdict_text(results):
    few = [r for r in results if r.x.n_pairs < ROUNDS_FOR_CLAIM]
    tested = [r for r in results if r not in few]
    groups = [[r for r in tested if r.verdict.startswith(start)] for start in ("gradmark is faster", "gradmark is slower", "cannot tell")]
    parts = []
    if tested:
        parts.append("gradmark is faster in %d of %d comparisons" % (len(groups[0]), len(tested)))
        for what, group in zip(("slower in %d", "in %d nothing can be told"), groups[1:]):
            parts.append((what % len(group)) + (" (%s)" % "; ".join(map(name_of, group)) if group else ""))
        parts = ["%s, %s, and %s; all verdicts together at 5 %% (Holm's correction)." % tuple(parts)]
    if few:
        parts.append("Of %d comparisons there are fewer than %d rounds, which are needed for a claim." % (len(few), ROUNDS_FOR_CLAIM))
    far = [r for r in results if r.x.is_far]
    if far:
        parts.append("Single rounds are far off in %s." % joined(["%s (median %.3f)" % (name_of(r), r.x.robust) for r in far]))
    return " ".join(parts)


def bf16_text(c):
    """What bf16 gains, in the same rounds."""
    ours, parts = {}, []
    for r in rows_of(c.path("launches.csv")):
        if side_of(r) == GRADMARK:
            ours.setdefault(cell_of(r), {})[r["round"]] = float(r["images_per_s"])
    for model, threads, precision in (cell for cell in ours if cell[2] == "bf16"):
        short, full = ours[model, threads, precision], ours.get((model, threads, "fp32"), {})
        rounds = [i for i in short if i in full]
        if rounds:
            x = Comparison([short[i] for i in rounds], [full[i] for i in rounds])
            parts.append("%s times (%s%s)" % (interval_text(x), model, ", %s threads" % threads if "," in c.manifest["threads"] else ""))
    return "gradmark's bf16 is %s as fast as its fp32." % joined(parts) if parts else ""


def readme(folder, shown=None):
    """The Markdown; shown: the link to the records, if it is not the folder itself."""
    c = Campaign(folder)
    results, m = results_of(c), c.manifest
    if not results:
        refuse("%s: there is no round with gradmark and a PyTorch yet" % folder)
    least, most = min(r.x.n_pairs for r in results), max(r.x.n_pairs for r in results)
    intro = "A training step, batch %s, in images/s on %s of a machine (%s, %s cores), beside PyTorch %s%s. " % (
        m["batch"], cores_text(len(m["cores"].split(","))), m["cpu_model"], m["cores_count"], joined(c.versions),
        ", each in the layout of images that was faster in a pilot, whose launches are not in the table" if c.has_pilot else "")
    intro += ("Each of %s rounds launches every side once, one after the other on the same cores, in an order drawn anew. images/s: "
              "medians over rounds; ratio: the geometric mean of gradmark / PyTorch within rounds, with its 95 %% interval (Student's t "
              "over the logarithms; [the records](%s)):" % (
                  most if least == most else "%d to %d" % (least, most), shown or folder.rstrip("/")))
    last = " ".join(filter(None, (verdict_text(results), bf16_text(c), others_text(c))))
    return "\n\n".join((wrapped(intro), "\n".join(table_lines(c, results)), wrapped(last))) + "\n"


BEGIN, END = "<!-- versus_pytorch ", "<!-- /versus_pytorch -->"


def blocks_of(path):
    """README before its block, the folder that its first line names, the block, what follows."""
    text = text_of(path)
    if text is None or text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        refuse("%s: it has not one line %s...--> and one %s behind it" % (path, BEGIN, END))
    before, _, behind = text.partition(BEGIN)
    block, _, after = behind.partition(END)
    first, _, block = block.partition("\n")
    return before, first.replace("-->", "").strip(), block, after + "\n"


def readme_into(folder, path):
    before, _, _, after = blocks_of(path)
    shown = os.path.relpath(folder, os.path.dirname(os.path.abspath(path)))
    write(path, "%s%s%s -->\n%s%s%s" % (before, BEGIN, shown, readme(folder, shown), END, after))


def readme_check(path):
    _, shown, block, _ = blocks_of(path)
    if block != readme(os.path.join(os.path.dirname(os.path.abspath(path)), shown), shown):
        refuse("%s: the records in %s say otherwise; versus.py readme %s %s puts it right" % (path, shown, shown, path))
