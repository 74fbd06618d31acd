# SPDX-License-Identifier: Apache-2.0
"""Read the records of gradmark, and compute its comparisons again.

    import gradmark

    campaign = gradmark.load("results/2026-11-30-demo")
    campaign.pairs({"mode": "allreduce", "workers_count": 2}, {"mode": "ps", "workers_count": 2})
    campaign.verdicts()

The numbers are those of gradmark itself: a test compares them. There are no dependencies. Only frame() needs pandas.
docs/records.md lists every kind of record and every key. `python -m gradmark chakra` writes traces for simulators.
"""

import argparse
import errno
import json
import math
import os
import statistics
import sys

# From the sources of gradmark: harness/measure/paired.h, harness/measure/disturbance.h, harness/campaign/campaign.h
LEVEL = 0.05  # error level of all verdicts together
WITHHELD_RATIO = 0.25  # of the pairs
DISTURBED_FREQUENCY_RATIO = 0.05  # off the median of the setting
ROUNDING = 1e-12  # a smaller logarithm is no difference
BOUND_ROUNDING = 1e-9  # of sums: a bound is wrong above that, as in harness/train/bound.c

ALIKE = "for example, auto of --over transport=auto,inproc is inproc: use different values"

QUANTITIES = {
    "throughput": "throughput_samples_per_s",
    "exchange_cost": "throughput_samples_per_s",
    "time_to_target": "seconds_to_target_loss_s",
}


def load(path):
    """The campaign in a folder, or the records of one file."""
    return Campaign(path)


def read(path):
    """All records of a file, as a list of dictionaries.

    An unfinished last line is left out: gradmark is still writing the file, or was killed.
    """
    records = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                records.append(json.loads(line))
            except ValueError as error:
                if line.endswith(b"\n"):
                    raise ValueError(f"{path}: line {number}: not a record: {error}") from None
    return records


class Campaign:
    """The records of a folder that `gradmark compare` wrote, or of the file of a run."""

    def __init__(self, path):
        self.folder = path if os.path.isdir(path) else None
        self.manifest = None
        if self.folder:
            for name in ("runs.jsonl", "manifest.json"):
                if not os.path.exists(os.path.join(path, name)):
                    raise ValueError(f"{path}: no {name}: use the folder of a campaign of gradmark compare, or a file")
            with open(os.path.join(path, "manifest.json"), encoding="utf-8") as file:
                self.manifest = json.load(file)
        self.records = read(os.path.join(path, "runs.jsonl") if self.folder else path)
        over = (self.manifest or {}).get("options", {}).get("over") or ""
        self._over, _, listed = over.partition("=")
        self._listed = listed.split(",")
        self.runs = list(_runs(self.records))

    def of_kind(self, kind):
        """The records of a kind: "summary", "step", "rank", ..."""
        return [record for record in self.records if record.get("kind") == kind]

    def frame(self, kind):
        """The records of a kind as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.of_kind(kind))

    def settings(self):
        """What was compared: each setting once, with the value of the option of --over."""
        names = ["model", "mode", "workers_count", "servers_count", "layout"] + ([self._over] if self._over else [])
        found = []
        for run in self.runs:
            setting = {name: self._value(run, name) for name in names}
            if setting not in found:
                found.append(setting)
        return found

    def runs_of(self, setting):
        """The runs of a setting, in their order. Keys are names of options, or else those of a summary.

        {"mode": "ps", "workers_count": 2, "bucket-bytes": "64Ki"}
        """
        runs = [run for run in self.runs if all(self._has(run, key, value) for key, value in setting.items())]
        if not runs:
            raise ValueError(f"no run has the setting {setting}; use some of: {self.settings()}")
        places = [run["summary"].get("launch_index") for run in runs]
        if len(set(places)) < len(places):
            fitting = [s for s in self.settings() if all(self._has(runs[0], key, value) for key, value in s.items())]
            if all(self._has(run, key, value) for run in runs for key, value in fitting[0].items()):
                raise ValueError(f"several settings of this campaign have equal options, those of {setting}; {ALIKE}")
            raise ValueError(f"several settings fit {setting}; add keys, as in: {self.settings()}")
        return runs

    def pairs(self, a, b, quantity="throughput"):
        """The pairs of runs of two settings from the same round, as dictionaries: a, b, ratio (above 1: a is better)."""
        of_a, of_b = _values(self.runs_of(a), quantity), _values(self.runs_of(b), quantity)
        if not all(value is not None and value > 0 for value in of_a + of_b):
            return []
        if quantity == "time_to_target":
            return [{"a": x, "b": y, "ratio": y / x} for x, y in zip(of_a, of_b)]
        return [{"a": x, "b": y, "ratio": x / y} for x, y in zip(of_a, of_b)]

    def verdict(self, a, b, quantity="throughput"):
        """The comparison of two settings, with the keys of a record of kind verdict.

        The result is the one that it would have as the only comparison of the campaign. See verdicts() for all.
        """
        return _decide([self._compare(a, b, quantity)])[0]

    def verdicts(self):
        """All comparisons of verdicts.jsonl, computed again from runs.jsonl, and decided together."""
        if not self.folder:
            raise ValueError("verdicts() needs the folder of a campaign: load(FOLDER)")
        path = os.path.join(self.folder, "verdicts.jsonl")
        if not os.path.exists(path):
            remedy = f"use verdict(A, B), or complete it: gradmark compare --continue {self.folder}"
            raise ValueError(f"{self.folder}: this campaign has no verdicts.jsonl yet; {remedy}")
        kept = read(path)
        return _decide([self._compare_again(record) for record in kept])

    def _value(self, run, key):
        """A manifest has options as they were written, or what gradmark took for auto; a summary has what was used."""
        options = run["manifest"].get("options", {})
        if key == "layout":  # a summary has none of data parallelism alone
            return "x".join(str(options.get(name) or 1) for name in ("workers", "stages", "shard-dense"))
        if key not in options:
            return run["summary"].get(key)
        known = [_number(value) for value in self._listed + ["none"]]
        is_taken = key == self._over and _number(options[key]) not in known
        return "auto" if is_taken and "auto" in self._listed else options[key]

    def _has(self, run, key, value):
        """Options are text where people write them ("64Ki"), and numbers in a manifest (65536)."""
        return _number(self._value(run, key)) == _number(value)

    def _compare_again(self, record):
        verdict = self._compare(_side(record, "a"), _side(record, "b"), record["quantity"])
        verdict.update(a=record["a"], b=record["b"])
        return verdict

    def _compare(self, a, b, quantity):
        if quantity not in QUANTITIES:
            raise ValueError(f"quantity {quantity!r}: use one of {', '.join(QUANTITIES)}")
        runs = list(zip(self.runs_of(a), self.runs_of(b)))
        marks = [(_marks(self.runs_of(a)), _marks(self.runs_of(b)))] if runs else []
        verdict = {"a": a, "b": b, "quantity": quantity}
        verdict.update(compare([pair["ratio"] for pair in self.pairs(a, b, quantity)]))
        for mark in ("disturbed", "unsteady", "bound"):
            verdict[f"{mark}_pairs_count"] = sum(
                of_a[mark][i] or of_b[mark][i] for of_a, of_b in marks for i in range(len(runs))
            )
        verdict["runs_count"] = len(runs)
        verdict["is_simulated"] = any(run["summary"].get("virtual_s") is not None for pair in runs for run in pair)
        return verdict


def compare(ratios):
    """Geometric mean of ratios of pairs, its 95 % interval (Student's t on logarithms) and p value; None: too few."""
    n = len(ratios)
    if n == 0:
        return {"ratio": None, "low_ratio": None, "high_ratio": None, "p_value": None, "pairs_count": 0}
    logs = [math.log(ratio) for ratio in ratios]
    mean = math.fsum(logs) / n
    compared = {"ratio": math.exp(mean), "low_ratio": None, "high_ratio": None, "p_value": None, "pairs_count": n}
    if n > 1:
        error = statistics.stdev(logs) / math.sqrt(n)
        half = student_t_975(n - 1) * error
        compared.update(low_ratio=math.exp(mean - half), high_ratio=math.exp(mean + half))
        if abs(mean) < ROUNDING:
            compared["p_value"] = 1.0
        elif error * math.sqrt(n) < ROUNDING:
            compared["p_value"] = 0.0
        else:
            compared["p_value"] = student_two_sided(abs(mean) / error, n - 1)
    return compared


def hold_together(p_values):
    """Which of several comparisons hold, all together at 5 % (Holm, Scandinavian Journal of Statistics 6(2), 1979)."""
    holds = [False] * len(p_values)
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for n_held, i in enumerate(order):
        if not p_values[i] <= LEVEL / (len(order) - n_held):
            break
        holds[i] = True
    return holds


def _decide(verdicts):
    """Adds result and withheld to comparisons that are decided together."""
    for v in verdicts:
        v["withheld"] = None
        if _is_tested(v) or (v["is_simulated"] and v["pairs_count"] > 0):
            for mark in ("disturbed", "unsteady", "bound"):
                if v["withheld"] is None and v[f"{mark}_pairs_count"] > WITHHELD_RATIO * v["runs_count"]:
                    v["withheld"] = mark
    tested = [v for v in verdicts if _is_tested(v) and not v["withheld"]]
    held = [v for v, holds in zip(tested, hold_together([v["p_value"] for v in tested])) if holds]
    faster_than_none = [v["a"] for v in held if v["quantity"] == "exchange_cost" and v["ratio"] > 1]
    for v in verdicts:
        if not v["withheld"] and _is_tested(v) and (v["a"] in faster_than_none or v["b"] in faster_than_none):
            v["withheld"] = "control"
        is_sure = not v["withheld"] and (v["is_simulated"] or any(v is h for h in held))
        is_known = v["ratio"] is not None and is_sure
        v["result"] = "cannot tell" if not is_known else "a" if v["ratio"] > 1 else "b" if v["ratio"] < 1 else "equal"
        if v["is_simulated"]:  # no spread
            v.update(low_ratio=None, high_ratio=None, p_value=None)
    return verdicts


def _is_tested(verdict):
    return not verdict["is_simulated"] and verdict["pairs_count"] > 1


def _runs(records):
    """A run: its manifest, and its summary. A run without a summary has failed, and is left out."""
    manifest = None
    for record in records:
        if record.get("kind") == "manifest":
            manifest = record
        elif record.get("kind") == "summary" and manifest is not None:
            yield {"manifest": manifest, "summary": record}
            manifest = None


def _side(verdict, side):
    """The setting a or b of a record of kind verdict."""
    setting = {"model": verdict["model"]}
    for key, value in verdict.items():
        name = key[len(side) + 1 :]
        if key.startswith(side + "_") and value is not None and name != "cores_count":
            setting[name] = value
    return setting


def _number(value):
    """Text as the number or truth that it stands for; otherwise the value itself."""
    if not isinstance(value, str):
        return value
    for suffix, factor in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("K", 10**3), ("M", 10**6), ("G", 10**9)):
        if value.endswith(suffix) and value[: -len(suffix)].isdigit():
            return int(value[: -len(suffix)]) * factor
    if value in ("true", "yes", "on", "false", "no", "off"):
        return value in ("true", "yes", "on")
    try:
        return float(value)
    except ValueError:
        return value


def _values(runs, quantity):
    return [run["summary"].get(QUANTITIES[quantity]) for run in runs]


def _marks(runs):
    """For each run: was the machine disturbed, was there no steady state, was it faster than its bound?"""
    summaries = [run["summary"] for run in runs]
    known = [s["frequency_hz"] for s in summaries if s.get("frequency_hz") is not None]
    median = statistics.median(known) if known else None
    return {
        "disturbed": [s.get("disturbed") == "yes" or _is_off(s.get("frequency_hz"), median) for s in summaries],
        "unsteady": [s.get("steady_state") in ("switch", "not reached") for s in summaries],
        "bound": [(s.get("bound_ratio") or 0) > 1 + BOUND_ROUNDING for s in summaries],
    }


def _is_off(frequency, median):
    return frequency is not None and median is not None and abs(frequency / median - 1) > DISTURBED_FREQUENCY_RATIO


# --- Student's t, as in harness/measure/student.c ---


def _beta_fraction(x, a, b):
    """Continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), in the form of Lentz."""
    tiny = 1e-290
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    fraction = d
    for m in range(1, 1000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + term * d
            c = 1 + term / c
            d = 1 / (d if abs(d) > tiny else tiny)
            c = c if abs(c) > tiny else tiny
            fraction *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return fraction


def student_two_sided(t, dof):
    """P(|T| > t) of Student's t."""
    if t == 0:
        return 1.0
    a, b, square = dof / 2, 0.5, t * t / dof
    if math.isinf(square):
        return 0.0
    log_x = -math.log1p(square)
    x, rest = math.exp(log_x), square / (1 + square)
    front = math.exp(a * log_x + b * math.log(rest) - math.lgamma(a) - math.lgamma(b) + math.lgamma(a + b))
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(x, a, b) / a
    return 1 - front * _beta_fraction(rest, b, a) / b


def student_t_975(dof):
    """The 0.975 quantile of Student's t, by halving."""
    low, high = 0.0, 1.0
    while student_two_sided(high, dof) > LEVEL:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if student_two_sided(middle, dof) > LEVEL:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def main():
    parser = argparse.ArgumentParser(prog="python -m gradmark", description="Convert what gradmark writes.")
    chakra = parser.add_subparsers(dest="command", required=True).add_parser(
        "chakra", help="write a run as a trace of MLCommons Chakra, for simulators such as ASTRA-sim"
    )
    chakra.add_argument("timeline", metavar="TIMELINE", help="the file of gradmark train --timeline")
    chakra.add_argument("messages", metavar="MESSAGES", help="the file of --messages, of the same run")
    chakra.add_argument("prefix", metavar="PREFIX", help="write PREFIX.RANK.et for each rank")
    arguments = parser.parse_args()
    try:
        import gradmark_chakra

        for path, text in gradmark_chakra.convert(arguments.timeline, arguments.messages, arguments.prefix).items():
            print(f"{path}: {text}")
    except OSError as error:
        remedy = ": use a file in a folder that exists" if error.errno == errno.ENOENT else ""
        sys.exit(f"gradmark {arguments.command}: {error.filename or arguments.prefix}: {error.strerror}{remedy}")
    except ValueError as error:
        sys.exit(f"gradmark {arguments.command}: {error}")


if __name__ == "__main__":
    main()
