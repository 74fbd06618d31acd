/* SPDX-License-Identifier: Apache-2.0 */
/* simulating.h - shared by subcommands that run many simulations and keep a folder: reproduce, simulate, predict. */
#ifndef HARNESS_VERBS_SIMULATING_H
#define HARNESS_VERBS_SIMULATING_H

#include <stdint.h>
#include <stdio.h>

#include "harness/base/folder.h"
#include "harness/base/rc.h"
#include "harness/campaign/kept_simulations.h"
#include "harness/campaign/simulated_run.h"
#include "harness/campaign/simulations.h"
#include "harness/verbs/continued.h"
#include "harness/verbs/verb.h"

/* RC_INVAL: --records or --out is "-". */
enum rc simulating_check(const char *out, const char *records) MUST_CHECK;
/* The folder of --out; if --out is not given, a folder that is discarded at the end. */
enum rc simulating_folder_open(struct atomic_folder *folder, const char *out, const char *verb) MUST_CHECK;
/* Call run(what, env), which runs n simulations, n_jobs at a time (0: as many as this process has cores). Prints
 * progress to stderr. kept: where finished simulations are kept; NULL: nowhere. */
struct simulating_run {
    enum rc (*run)(void *what, const struct simulations_env *env);
    void *what;
    const char *folder;
    uint64_t n_jobs;
    size_t n;
    struct kept_simulations *kept;
};
enum rc simulating_run(const struct simulating_run *r) MUST_CHECK;
/* Write the output of print(what, to) to a file. */
enum rc simulating_print_into(enum rc (*print)(const void *what, FILE *to), const void *what,
                              const char *path) MUST_CHECK;
/* Print to standard output where the tables and the page are. RC_IO. */
enum rc simulating_tell_folder(const char *out) MUST_CHECK;
/* folder/manifest.json: the subcommand, its operand, its options and the program. It has no fact of this machine, no
 * date, and no option about the place of files or the number of simulations at a time: equal predictions have equal
 * folders. despite: what had changed when the run was continued; "": nothing. set: those that failed are
 * named in it (FAILED_KEY); NULL: none. */
enum rc simulating_write_manifest(const struct verb_call *call, const char *folder, const char *despite,
                                  const struct simulation_set *set) MUST_CHECK;

/* --- subcommands with --continue --- */

/*
 * With --out FOLDER, the folder is FOLDER.partial until it is complete. It holds each finished simulation
 * (kept_simulations.h) and the plan (continued.h). When it becomes FOLDER, these two are removed from it. Without
 * --out, and with --dry-run, the folder exists for this run only.
 */
struct simulating { /* owned; zeroed: not open */
    struct atomic_folder folder;
    struct kept_simulations kept;
    const struct continued *continued; /* borrowed */
    bool keeps, has_begun;
};

/* Open the folder: a new one, or that of c. */
enum rc simulating_open(struct simulating *s, const struct continued *c, const char *verb, const char *out,
                        bool is_dry) MUST_CHECK;
/* After planning: run the simulations that are not finished yet. Once for each set that the command needs. */
enum rc simulating_run_kept(struct simulating *s, struct verb_call *call, const struct simulation_set *set,
                            struct simulating_run r) MUST_CHECK;
/* Write the manifest, and make FOLDER; without --out nothing. */
enum rc simulating_commit(struct simulating *s, const struct verb_call *call,
                          const struct simulation_set *set) MUST_CHECK;
/* Accepts a zeroed one. If FOLDER was not made, finished simulations are kept. */
void simulating_close(struct simulating *s);
/* For --dry-run: print the simulations, the number that run at a time, and what is known about the time. RC_INVAL: no
 * plan can be written for --out. */
enum rc simulating_print_plan(const struct verb_call *call, const struct simulation_set *set, uint64_t n_jobs,
                              FILE *to) MUST_CHECK;

#endif
