# SPDX-License-Identifier: Apache-2.0
"""A campaign of scripts/measure horovod: its folder, its launches in their order, and its table.

A cell is a model with a batch. What a side keeps is its speed in turns with exchange over that in turns without (train.T1).

  H1  A round launches every side of a cell once, one after the other, in an order drawn from the seed. Speeds of two sides are
      compared within rounds.
  H2  The launch is the unit: its figure is the geometric mean over its pairs, and intervals are Student's t over the logarithms of
      launches, for what a launch is given (memory, where its threads run) holds for all of its pairs. Beside it stands the
      half-width that pairs alone would claim; where that is much smaller, launches differ by more than chance within them.
  H3  A claim needs ROUNDS_FOR_CLAIM rounds and holds together with all others of the campaign (measure.C4).
  H4  Where a peer may be set in several ways (layouts, Horovod's cycles), a pilot chooses one per cell, by its speed with exchange,
      before any launch that counts (chosen.json).
"""

import csv
import math
import os
import random
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pytorch"))
from campaign import json_of, text_of, write, write_json  # noqa: E402, F401
from findings import QUIET_CORES, ROUNDS_FOR_CLAIM, holds_one, interval_text, spread  # noqa: E402
from launches import LAYOUTS, PEER_OF  # noqa: E402
from paired import Comparison, holds_together  # noqa: E402

FIELDS = ("round", "model", "batch", "side", "layout", "cycle_ms", "turn_steps", "pairs", "keeps", "keeps_low", "keeps_high",
          "images_per_s", "images_per_s_alone", "others_cores", "launch_s", "turns_s")
FILES = {"pilot": "pilot.csv", "rounds": "launches.csv"}


def cell_of(row):
    return row["model"], row["batch"]


class Campaign:
    def __init__(self, folder):
        self.folder, self.manifest = folder, json_of(os.path.join(folder, "manifest.json"))
        if self.manifest is None or self.manifest.get("kind") != "versus_horovod":
            raise ValueError("%s has no manifest.json of a campaign" % folder)
        m = self.manifest
        self.cells = [tuple(word.split(":")) for word in m["models"].split(",")]
        self.sides = m["sides"].split(",")
        self.chosen = json_of(self.path("chosen.json"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def rows(self, stage):
        """A last line that was cut short is none."""
        path = self.path(FILES[stage])
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8", newline="") as file:
            return [row for row in csv.DictReader(file) if row["turns_s"]]

    def append(self, name, rows):
        is_new = not os.path.exists(self.path(name))
        with open(self.path(name), "a", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerows(rows)

    def settings(self, side):
        """(layout, cycle) that it may have."""
        if side not in PEER_OF:
            return [("-", "-")]
        m = self.manifest
        layouts = LAYOUTS if m["layout"] == "better" else (m["layout"],)
        cycles = m["cycle_ms"].split(",") if PEER_OF[side] == "horovod" and m["waiting"] == "tuned" else ("-",)
        return [(layout, cycle) for layout in layouts for cycle in cycles]

    def setting(self, cell, side):
        ways = self.settings(side)
        return ways[0] if len(ways) == 1 else tuple(self.chosen[" ".join(cell + (side,))])

    def pilot(self):
        """(round, cell, side, setting) of its launches."""
        if self.chosen is not None:
            return []
        return [("1", cell, side, way) for cell in self.cells for side in self.sides if len(self.settings(side)) > 1
                for way in self.settings(side)]

    def round(self, i):
        """H1."""
        out = []
        for cell in self.cells:
            sides = list(self.sides)
            random.Random(" ".join((self.manifest["seed"], str(i)) + cell)).shuffle(sides)
            out += [(str(i), cell, side, self.setting(cell, side)) for side in sides]
        return out

    def left(self, stage, planned):
        done = {(row["round"], cell_of(row), row["side"], (row["layout"], row["cycle_ms"])) for row in self.rows(stage)}
        return [launch for launch in planned if launch not in done]

    def whole_rounds_count(self):
        """Rounds from the first on that are complete; what was launched of the next one goes to unpaired.csv (H1)."""
        n = 0
        while n < int(self.manifest["rounds"]) and not self.left("rounds", self.round(n + 1)):
            n += 1
        rows = self.rows("rounds")
        lost = [row for row in rows if int(row["round"]) > n]
        if lost:
            self.append("unpaired.csv", lost)
            self.append("again.csv", [row for row in rows if row not in lost])
            os.replace(self.path("again.csv"), self.path(FILES["rounds"]))
        return n

    def choose(self):
        """H4."""
        chosen = {}
        for row in sorted(self.rows("pilot"), key=lambda row: float(row["images_per_s"])):
            chosen[" ".join(cell_of(row) + (row["side"],))] = row["layout"], row["cycle_ms"]  # the last is the fastest
        write_json(self.path("chosen.json"), chosen)
        self.chosen = chosen


# --- the table ---

def over_launches(rows):
    """H2: what launches keep, as a comparison with 1."""
    return Comparison([float(row["keeps"]) for row in rows], [1.0] * len(rows))


def half_percent(low, high):
    return (math.sqrt(high / low) - 1) * 100


def half_by_pairs(rows):
    """Of the geometric mean of the launches, from the intervals within them alone; None where a launch has none."""
    if not all(row["keeps_low"] for row in rows):
        return None
    halves = [math.log(float(row["keeps_high"]) / float(row["keeps_low"])) / 2 for row in rows]
    return (math.exp(math.sqrt(sum(h * h for h in halves)) / len(halves)) - 1) * 100


def percent(value):
    return "-" if value is None else "%.2f" % value


def side_line(row, cell, side, rows):
    x, by_pairs = over_launches(rows), half_by_pairs(rows)
    by_launches = None if x.low is None else half_percent(x.low, x.high)
    return row % (cell[0], cell[1], side, rows[0]["layout"], rows[0]["cycle_ms"], spread([float(r["images_per_s"]) for r in rows]),
                  spread([float(r["images_per_s_alone"]) for r in rows]), interval_text(x),
                  "%s / %s" % (percent(by_launches), percent(by_pairs)), len(rows))


class Duel:
    """gradmark's side beside a peer's within rounds: what is kept, and images/s with exchange."""

    def __init__(self, cell, ours, theirs, rows):
        by_round = [{row["round"]: row for row in rows if (cell_of(row), row["side"]) == (cell, side)} for side in (ours, theirs)]
        both = sorted(set(by_round[0]) & set(by_round[1]), key=int)
        self.cell, self.ours, self.theirs, self.n, self.verdict = cell, ours, theirs, len(both), ""
        if both:
            self.kept, self.speed = (Comparison(*([float(by_round[i][r][key]) for r in both] for i in (0, 1)))
                                     for key in ("keeps", "images_per_s"))


def duels_of(c, rows):
    """H3."""
    duels = [Duel(cell, ours, theirs, rows) for cell in c.cells for ours in c.sides if ours not in PEER_OF for theirs in c.sides
             if theirs in PEER_OF]
    duels = [duel for duel in duels if duel.n]
    tested = [duel for duel in duels if duel.n >= ROUNDS_FOR_CLAIM]
    for duel, holds in zip(tested, holds_together([duel.kept.p for duel in tested])):
        duel.verdict = "cannot tell"
        if holds and not holds_one(duel.kept):
            duel.verdict = "gradmark keeps %s" % ("more" if duel.kept.ratio > 1 else "less")
    for duel in duels:
        duel.verdict = duel.verdict or "%d rounds are needed for a claim" % ROUNDS_FOR_CLAIM
    return duels


def notes(c, rows):
    m = c.manifest
    others = [float(row["others_cores"]) for row in rows]
    n_loud = sum(o > QUIET_CORES for o in others)
    out = ["images/s: of 2 workers on a core each, the median over launches (least to greatest).",
           "keeps: speed with exchange over that without; turns of %s steps alternate within a launch, %s pairs behind one of warm-up."
           % (m["turn"], m["pairs"]),
           "Its interval: the launch is the unit; Student's t over logarithms. +- %: its half-width, and the one that pairs alone claim.",
           "Verdicts: on what is kept, those of %d rounds and more, all together at 5 %% (Holm's correction)." % ROUNDS_FOR_CLAIM,
           "Waiting of Horovod: %s. In turns without exchange it is shut down." % m["waiting"],
           "Other programs used up to %.2f cores during a launch%s." % (
               max(others), ", more than %.1f during %d of %d: measure again on a quiet machine" % (QUIET_CORES, n_loud, len(others))
               if n_loud else "")]
    for peer, said in m["peers_about"].items():
        out.append("%s: %sPyTorch %s." % (peer, "Horovod %s with " % said["horovod"] if "horovod" in said else "", said["torch"]))
    n_rounds = len({row["round"] for row in rows})
    if n_rounds < int(m["rounds"]):
        out.append("Of %s planned rounds there are %d." % (m["rounds"], n_rounds))
    return out


def table_of(c):
    rows = c.rows("rounds")
    if not rows:
        raise ValueError("%s: there is no launch yet" % c.folder)
    row = "%-10s %5s  %-17s %-13s %-8s %-22s %-22s %-24s %-13s %s"
    lines = [row % ("model", "batch", "side", "layout", "cycle ms", "images/s", "without exchange", "keeps (95 %)", "+- %", "launches")]
    for cell in c.cells:
        for side in c.sides:
            its = [r for r in rows if (cell_of(r), r["side"]) == (cell, side)]
            lines += [side_line(row, cell, side, its)] if its else []
    duels = duels_of(c, rows)
    row = "%-10s %5s  %-17s %-17s %-24s %-24s %-6s %s"
    if duels:
        lines += ["", row % ("model", "batch", "side", "beside", "ratio of keeps (95 %)", "ratio of images/s (95 %)", "rounds", "verdict")]
    lines += [row % (d.cell + (d.ours, d.theirs, interval_text(d.kept), interval_text(d.speed), d.n, d.verdict)) for d in duels]
    return "\n".join(lines + [""] + notes(c, rows)) + "\n"


def report(c):
    text = table_of(c)
    write(c.path("table.txt"), text)
    print(text, end="")
