# Tried: ReFrame 4.10.4, each check with its local scheduler (scripts/reframe_test); not with Slurm.
# SPDX-License-Identifier: Apache-2.0
"""Checks for ReFrame 4.x: gradmark_accept (is this cluster as it should be?), gradmark_compare, gradmark_comm.

    reframe -C site.py -c gradmark_checks.py -n gradmark_accept -r -S num_tasks=16 -S options=/site/criteria.yaml,--world,mpi
    reframe ... -n gradmark_comm -S references=allreduce_ring_1048576=1.1e9:-0.1:

Settings, each by -S or in a subclass:

    program     the program; default: gradmark
    options     of the subcommand, commas between; the defaults are below
    references  NAME=VALUE:LOWER:UPPER, commas between: a figure and by what ratio it may be below and above; either may be
                left out. A subclass may set `reference`, as ReFrame has it, instead.
    num_tasks, num_tasks_per_node, time_limit and all others of ReFrame

ReFrame prints the names of the figures, with -r and without references. What a check wrote (`bundle`, `results`) is kept in
its output folder when it passes; otherwise it stays in its stage folder.
"""

import json
import os
import statistics

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ


def parse_reference(text):
    """("NAME", (VALUE, LOWER, UPPER)) of NAME=VALUE:LOWER:UPPER"""
    try:
        name, numbers = text.split("=")
        value, lower, upper = (float(n) if n else None for n in numbers.split(":"))
        return name, (float(value), lower, upper)
    except (ValueError, TypeError):
        raise ValueError("references: %s: use NAME=VALUE:LOWER:UPPER, as in pair_latency_s=2e-5::0.2" % text) from None


class gradmark_check(rfm.RunOnlyRegressionTest):
    """A subclass has words (of the command line), figures_of(text) -> {name: (value, unit)} and complaint(text, code)."""

    program = variable(str, value="gradmark")
    options = variable(typ.List[str], value=["--world", "mpi"])
    references = variable(typ.List[str], value=[])

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    exclusive_access = True
    time_limit = "1h"

    @run_before("setup")  # an error of "init" would skip the check, which is a pass
    def read_references(self):
        self.asked = dict(parse_reference(text) for text in self.references)

    @run_before("run")
    def set_command(self):
        self.executable = self.program
        self.executable_opts = [*self.words, *self.options]

    def output(self):
        with open(os.path.join(self.stagedir, sn.evaluate(self.stdout))) as stream:
            return stream.read()

    @sanity_function
    def is_sane(self):
        text = self.output()
        complaint = self.complaint(text, self.job.exitcode)
        figures = self.figures_of(text)
        return sn.all([sn.assert_false(complaint, complaint)] +
                      [sn.assert_in(name, figures, "there is a reference of {0}, and no such figure") for name in self.asked])

    @run_before("performance")
    def read_figures(self):
        figures = self.figures_of(self.output())
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit)
                               for name, (value, unit) in figures.items()}
        if self.asked:
            self.reference = {"*": {name: (*self.asked[name], figures[name][1]) for name in self.asked}}


@rfm.simple_test
class gradmark_accept(gradmark_check):
    """Passes if the verdict does. Figures are lines of the output: "accept: NAME VALUE UNIT", and "accept: verdict WORDS"."""

    descr = "is this cluster as fast as it should be, and if not, which part is slow?"
    words = ["accept", "--out", "bundle"]
    keep_files = ["bundle"]
    tags = {"acceptance"}

    def lines(self, text):
        return [line.split()[1:] for line in text.splitlines() if line.startswith("accept: ")]

    def complaint(self, text, code):
        verdicts = [" ".join(words[1:]) for words in self.lines(text) if words[0] == "verdict"]
        return "" if verdicts == ["pass"] else "the verdict is %s" % (verdicts[0] if verdicts else "missing")

    def figures_of(self, text):
        return {words[0]: (float(words[1]), words[2]) for words in self.lines(text) if words[0] != "verdict"}


class gradmark_json(gradmark_check):
    """A check whose output is records: JSON, one a line."""

    def records(self, text, kind):
        found = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        return [record for record in found if record["kind"] == kind]


@rfm.simple_test
class gradmark_comm(gradmark_json):
    """Passes if all sums are right. Figures: bus bandwidth, by algorithm and bytes."""

    descr = "how fast is an allreduce here?"
    words = ["comm", "allreduce", "--json"]
    tags = {"performance"}

    def complaint(self, text, code):
        rows = self.records(text, "row")
        wrong = sum(row["wrong_count"] or 0 for row in rows)
        if code or wrong or not rows:
            return "exit status %s, %d rows, %d wrong elements" % (code, len(rows), wrong)
        return ""

    def figures_of(self, text):
        return {"%s_%s_%d" % (row["type"].replace("-", "_"), row["reducer"].replace("-", "_"), row["bytes_count"]):
                (row["busbw_bytes_per_s"], "byte/s") for row in self.records(text, "row")}


@rfm.simple_test
class gradmark_compare(gradmark_json):
    """Passes if it has verdicts and withholds none. Figures: median samples/s of each setting, and each verdict's ratio."""

    descr = "is a parameter server or an allreduce faster here?"
    words = ["compare", "--json", "--no-charts", "--results", "results"]
    keep_files = ["results"]
    tags = {"performance"}

    def complaint(self, text, code):
        verdicts = self.records(text, "verdict")
        withheld = [verdict["withheld_reason"] for verdict in verdicts if verdict["withheld"]]
        if code or not verdicts:
            return "exit status %s, %d verdicts" % (code, len(verdicts))
        return "a verdict is withheld: %s" % withheld[0] if withheld else ""

    def figures_of(self, text):
        rates = {}
        for run in self.records(text, "summary"):
            name = "%s_%s_%d" % (run["model"], run["mode"], run["workers_count"])
            rates.setdefault(name, []).append(run["throughput_samples_per_s"])
        figures = {name: (statistics.median(values), "samples/s") for name, values in rates.items()}
        for verdict in self.records(text, "verdict"):
            name = "_".join(str(verdict[key]) for key in
                            ("model", "quantity", "a_mode", "a_workers_count", "b_mode", "b_workers_count"))
            if verdict["ratio"] is not None:
                figures[name] = (verdict["ratio"], "ratio")
        return figures
