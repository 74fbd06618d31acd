/* SPDX-License-Identifier: Apache-2.0 */
/*
 * environment.h - the environment variables that change how launchers and libraries (OpenMP, BLAS, MPI, UCX, NCCL)
 * compute or communicate. They are part of a manifest.
 *
 * Invariants
 *   N1  Only variables on the list in environment.c are recorded, never the whole environment.
 *   N2  No secret is recorded. A variable is recorded as null, meaning "set", in two cases: its name suggests a secret
 *       (KEY, TOKEN, ...), or its value is an address that contains a user. Variables by which a launcher configures
 *       its own processes (addresses, keys of the job) are not on the list.
 *   N3  A value longer than ENVIRONMENT_VALUE_BYTES is cut to that length and ends in "...". If there are more than
 *       ENVIRONMENT_MAX_VARIABLES variables, the first by name are recorded and the rest are counted.
 */
#ifndef HARNESS_REPORT_ENVIRONMENT_H
#define HARNESS_REPORT_ENVIRONMENT_H

#include "harness/report/record.h"

enum { ENVIRONMENT_VALUE_BYTES = 256, ENVIRONMENT_MAX_VARIABLES = 128 };

/* Sets environment, a child with a key for each variable, and environment_left_out_count (report.N3).
 *   variables  "NAME=value", NULL-terminated, as environ
 * If there is no memory for the child, environment is null. */
void environment_record(struct record *r, char *const *variables);

#endif
