/* SPDX-License-Identifier: Apache-2.0 */
/* simulating.h - what verbs share that run many simulations and keep a folder: reproduce, simulate, predict. */
#ifndef HARNESS_VERBS_SIMULATING_H
#define HARNESS_VERBS_SIMULATING_H

#include <stdint.h>
#include <stdio.h>

#include "harness/base/folder.h"
#include "harness/base/rc.h"
#include "harness/campaign/simulations.h"
#include "harness/verbs/verb.h"

/* RC_INVAL: --json or --out is "-". */
enum rc simulating_check(const char *out, const char *json) MUST_CHECK;
/* --out, or without it one that is discarded at the end. */
enum rc simulating_folder_open(struct atomic_folder *folder, const char *out, const char *verb) MUST_CHECK;
/* Call run(what, env), which runs n simulations, n_jobs at a time (0: as many as this process has cores); tells
 * progress to stderr. */
enum rc simulating_run(enum rc (*run)(void *what, const struct simulations_env *env), void *what, const char *folder,
                       uint64_t n_jobs, size_t n) MUST_CHECK;
/* What print(what, to) writes, as a file. */
enum rc simulating_print_into(enum rc (*print)(const void *what, FILE *to), const void *what,
                              const char *path) MUST_CHECK;
/* On standard output: where all tables and the page are. RC_IO. */
enum rc simulating_tell_folder(const char *out) MUST_CHECK;
/* folder/manifest.json: the verb, its operand, its options and the program. Nothing of this machine, no date, and no
 * option that says where files go or how many simulations run at a time: equal predictions have equal folders. */
enum rc simulating_write_manifest(const char *verb, const struct verb_call *call, const char *folder) MUST_CHECK;

#endif
