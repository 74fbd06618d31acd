# SPDX-License-Identifier: Apache-2.0
"""A campaign of scripts/measure pytorch: its folder, its records, its launches in their order.

A cell is a model, a number of threads and a precision; a side is gradmark, or a version of PyTorch with a layout.

Invariants
  V1  A ratio is taken within a round: the sides of a cell are launched there one after the other, in an order drawn for this
      round and cell from the seed. A side whose launch failed is without a ratio in this round.
  V2  With --layouts better, launches of the pilot choose each cell's layout once (layouts.json), before any launch that counts;
      no ratio holds them.
  V3  A claim needs ROUNDS_FOR_CLAIM rounds, holds together with all other claims of the campaign (paired C4), and an interval
      without 1 as it is printed.
"""

import csv
import json
import os
import random
import sys

GRADMARK = ("gradmark", "-", "-")
FIELDS = ("round", "model", "threads", "precision", "side", "pytorch", "layout", "batch", "steps", "images_per_s", "step_median_s",
          "loss_last", "others_cores", "launch_s", "steps_s")


def refuse(text):
    sys.exit("versus.py: %s" % text)


# --- files ---

def text_of(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return None


def json_of(path):
    text = text_of(path)
    return None if text is None else json.loads(text)


def write(path, text):
    """All of it or nothing."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(path + ".new", path)


def write_json(path, value):
    write(path, json.dumps(value, indent=1) + "\n")


def rows_of(path):
    """The launches of a CSV; a last line that was cut short is none. No file: none."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return [r for r in csv.DictReader(file) if r["steps_s"]]


def append(path, rows):
    is_new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerows(rows)


def cell_of(row):
    return row["model"], row["threads"], row["precision"]


def side_of(row):
    return row["side"], row["pytorch"], row["layout"]


class Campaign:
    def __init__(self, folder):
        self.folder = folder
        self.manifest = json_of(self.path("manifest.json"))
        if self.manifest is None:
            refuse("%s: it has no manifest.json of a campaign" % folder)
        m = self.manifest
        self.versions = [p["version"] for p in m["pytorch"]]
        self.cells = [(model, threads, precision) for model in m["models"].split(",") for threads in m["threads"].split(",")
                      for precision in m["precisions"].split(",")]
        self.has_pilot = m["layouts"] == "better"
        self.chosen = json_of(self.path("layouts.json")) if self.has_pilot else None

    def path(self, name):
        return os.path.join(self.folder, name)

    def layouts(self, cell, version):
        """Those in which this PyTorch takes part; None: not chosen yet."""
        if not self.has_pilot:
            return self.manifest["layouts"].split(",")
        if self.chosen is None:
            return None
        choice = self.chosen[" ".join(cell)].get(version)
        return [choice["layout"]] if choice else []

    def sides(self, cell):
        return [GRADMARK] + [("pytorch", v, layout) for v in self.versions for layout in self.layouts(cell, v) or ["?"]
                             if self.layouts(cell, v) != []]

    def pilot_sides(self):
        return [("pytorch", v, layout) for v in self.versions for layout in ("contiguous", "channels-last")]

    def planned(self, stage):
        """(round, cell, side) of every launch of the stage, in order (V1)."""
        n_rounds = int(self.manifest["pilot_rounds" if stage == "pilot" else "rounds"])
        for i in range(1, n_rounds + 1):
            for cell in self.cells:
                sides = self.pilot_sides() if stage == "pilot" else self.sides(cell)
                random.Random(" ".join((self.manifest["seed"], stage, str(i)) + cell)).shuffle(sides)
                for side in sides:
                    yield str(i), cell, side

    def left(self, stage):
        if stage == "pilot" and (not self.has_pilot or self.chosen is not None):
            return []
        done = {(r["round"], cell_of(r), side_of(r)) for r in rows_of(self.path(file_of(stage)))}
        return [launch for launch in self.planned(stage) if launch not in done]


def file_of(stage):
    return "pilot.csv" if stage == "pilot" else "launches.csv"
