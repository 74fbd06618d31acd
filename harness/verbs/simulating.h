/* SPDX-License-Identifier: Apache-2.0 */
/* simulating.h - what verbs share that run many simulations and keep a folder: reproduce, simulate, predict. */
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

/* RC_INVAL: --json or --out is "-". */
enum rc simulating_check(const char *out, const char *json) MUST_CHECK;
/* --out, or without it one that is discarded at the end. */
enum rc simulating_folder_open(struct atomic_folder *folder, const char *out, const char *verb) MUST_CHECK;
/* Call run(what, env), which runs n simulations, n_jobs at a time (0: as many as this process has cores). Prints
 * progress to stderr. If a signal stops it, the exit code of the call says so. kept: where finished ones are kept;
 * NULL: nowhere. */
struct simulating_run {
    enum rc (*run)(void *what, const struct simulations_env *env);
    void *what;
    const char *folder;
    uint64_t n_jobs;
    size_t n;
    struct kept_simulations *kept;
};
enum rc simulating_run(struct verb_call *call, const struct simulating_run *r) MUST_CHECK;
/* What print(what, to) writes, as a file. */
enum rc simulating_print_into(enum rc (*print)(const void *what, FILE *to), const void *what,
                              const char *path) MUST_CHECK;
/* On standard output: where all tables and the page are. RC_IO. */
enum rc simulating_tell_folder(const char *out) MUST_CHECK;
/* folder/manifest.json: the verb, its operand, its options and the program. Nothing of this machine, no date, and no
 * option that says where files go or how many simulations run at a time: equal predictions have equal folders.
 * despite: what had changed when it was continued; "": nothing. */
enum rc simulating_write_manifest(const struct verb_call *call, const char *folder, const char *despite) MUST_CHECK;

/* --- verbs with --continue --- */

/*
 * With --out FOLDER: the folder is FOLDER.partial until all is there. It holds each finished simulation
 * (kept_simulations.h) and the plan (continued.h). Once it has become FOLDER, these two are removed from it. Without
 * --out, and with --dry-run, the folder is one for this run alone.
 */
struct simulating { /* owned; zeroed: not open */
    struct atomic_folder folder;
    struct kept_simulations kept;
    const struct continued *continued; /* borrowed */
    bool keeps;
};

/* Open the folder: new, or that of c. */
enum rc simulating_open(struct simulating *s, const struct continued *c, const char *verb, const char *out,
                        bool is_dry) MUST_CHECK;
/* All is planned: run what is not finished yet. */
enum rc simulating_run_kept(struct simulating *s, struct verb_call *call, const struct simulation_set *set,
                            struct simulating_run r) MUST_CHECK;
/* The manifest, and FOLDER; nothing without --out. */
enum rc simulating_commit(struct simulating *s, const struct verb_call *call) MUST_CHECK;
/* Accepts a zeroed one. What is finished stays if FOLDER was not made. */
void simulating_close(struct simulating *s);
/* --dry-run: which simulations, how many at a time, and what is known of the time. */
void simulating_print_plan(const struct verb_call *call, const struct simulation_set *set, uint64_t n_jobs, FILE *to);

#endif
