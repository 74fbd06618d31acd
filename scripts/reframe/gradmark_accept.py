# SPDX-License-Identifier: Apache-2.0
"""gradmark_accept - `gradmark accept` as a check of ReFrame (4.x): the verdict is its sanity, the figures its performance.

    reframe -C site.py -c gradmark_accept.py -r -S num_tasks=16 -S num_tasks_per_node=2 -S criteria=/site/criteria.yaml
    reframe ... -S references=allreduce_busbw_bytes_per_s_1048576=1.1e9:-0.1:,pair_latency_s=2e-5::0.2

Settings, each by -S or in a subclass:

    program     the program; default: gradmark
    criteria    a file of `gradmark accept --init`; default: none, all criteria have their defaults
    options     further options, commas between; default: --world,mpi
    references  NAME=VALUE:LOWER:UPPER, commas between: a figure and by what ratio it may be below and above; either may be
                left out. A subclass may set `reference`, as ReFrame has it, instead.
    num_tasks, num_tasks_per_node, time_limit and all others of ReFrame

The bundle (page, JSON, JUnit, lists of hosts) is kept as `bundle` in the check's output folder when it passes; otherwise it
stays in its stage folder.

Read are lines of the program's output that begin with "accept: ":

    accept: NAME VALUE UNIT    a figure: letters, digits and _; a number; a word
    accept: verdict WORDS      pass, fail or no data
"""

import os

import reframe as rfm
import reframe.utility.sanity as sn
import reframe.utility.typecheck as typ

FIGURE = r"^accept: (\w+) ([-+.\dA-Za-z]+) (\S+)$"
VERDICT = r"^accept: verdict (.+)$"


def parse_reference(text):
    """("NAME", (VALUE, LOWER, UPPER)) of NAME=VALUE:LOWER:UPPER"""
    try:
        name, numbers = text.split("=")
        value, lower, upper = (float(n) if n else None for n in numbers.split(":"))
        return name, (float(value), lower, upper)
    except (ValueError, TypeError):
        raise ValueError("references: %s: use NAME=VALUE:LOWER:UPPER, as in pair_latency_s=2e-5::0.2" % text) from None


@rfm.simple_test
class gradmark_accept(rfm.RunOnlyRegressionTest):
    descr = "is this cluster as fast as it should be, and if not, who is to blame?"
    program = variable(str, value="gradmark")
    criteria = variable(str, value="")
    options = variable(typ.List[str], value=["--world", "mpi"])
    references = variable(typ.List[str], value=[])

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    sourcesdir = None
    exclusive_access = True
    time_limit = "1h"
    keep_files = ["bundle"]
    tags = {"acceptance"}

    @run_before("setup")  # an error of "init" would skip the check, which is a pass
    def read_references(self):
        self.asked = dict(parse_reference(text) for text in self.references)

    @run_before("run")
    def set_command(self):
        self.executable = self.program
        criteria = [os.path.abspath(self.criteria)] if self.criteria else []
        self.executable_opts = ["accept", *criteria, "--out", "bundle", *self.options]

    @deferrable
    def figures(self):
        """{name: (value, unit)}"""
        output = os.path.join(self.stagedir, sn.evaluate(self.stdout))  # performance is prepared outside of stagedir
        found = sn.evaluate(sn.extractall(FIGURE, output, (1, 2, 3), (str, float, str)))
        return {name: (value, unit) for name, value, unit in found}

    @sanity_function
    def verdict_is_pass(self):
        verdict = sn.extractsingle(VERDICT, self.stdout, 1)
        figures = self.figures()
        return sn.all([sn.assert_eq(verdict, "pass", "the verdict is {0}")] +
                      [sn.assert_in(name, figures, "there is a reference of {0}, and no such figure") for name in self.asked])

    @run_before("performance")
    def read_figures(self):
        figures = sn.evaluate(self.figures())
        self.perf_variables = {name: sn.make_performance_function(sn.defer(value), unit)
                               for name, (value, unit) in figures.items()}
        if self.asked:
            self.reference = {"*": {name: (*self.asked[name], figures[name][1]) for name in self.asked}}
