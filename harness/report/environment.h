/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - the variables of a process's environment by which launchers and libraries (OpenMP, BLAS, MPI, UCX,
 * NCCL) compute or communicate otherwise: a part of a manifest.
 *
 * Invariants
 *   N1  What is not on the list of environment.c is not recorded: never the whole environment.
 *   N2  No secret is recorded: a variable whose name says that it may be one (KEY, TOKEN, ...), or whose value is an
 *       address with a user in it, is null, which means that it is set. What a launcher tells its own processes
 *       (addresses, keys of the job) is not on the list.
 *   N3  A value longer than ENVIRONMENT_VALUE_BYTES is cut to these and ends in "..."; of more variables than
 *       ENVIRONMENT_MAX_VARIABLES the first by name are recorded, the others counted.
 *   N4  Variables are in the order of their names: equal environments give equal records.
 */
#ifndef HARNESS_REPORT_ENVIRONMENT_H
#define HARNESS_REPORT_ENVIRONMENT_H

#include "harness/report/record.h"

enum { ENVIRONMENT_VALUE_BYTES = 256, ENVIRONMENT_MAX_VARIABLES = 128 };

/* Sets environment, a child with a key for each variable, and environment_left_out_count (N3).
 *   variables  "NAME=value", NULL behind the last, as environ
 * Without memory for the child environment is null. */
void environment_record(struct record *r, char *const *variables);

#endif
