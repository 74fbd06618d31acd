/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - what ran: build, machine, libraries. The caller adds options and ranks.
 * With `virtual_only` (sim) it has no fact of this machine and no date: equal runs have equal records.
 */
#ifndef HARNESS_REPORT_MANIFEST_H
#define HARNESS_REPORT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/report/record.h"

/* Adds git_commit, git_dirty, compiler, compiler_flags, build_type, version. Unless virtual_only it also adds
 * host, kernel, cpu_model, cores_count, memory_bytes, date_utc; a child record "libraries" with the versions of
 * hwloc, OpenBLAS, ZeroMQ, MPI; and the environment variables that change how these libraries behave
 * (environment.h). */
void manifest_fill(struct record *r, bool virtual_only);
/* "1.0.0 (commit 1234567, changed)": one line for people. out[n_bytes]. */
void manifest_version(char *out, size_t n_bytes);
/* Lines for people: "Release by GNU 12.2.0: -O3 ..."; "hwloc 2.9.0, ..."; "AMD EPYC, 25.3 GB of memory, Linux ...".
 */
void manifest_build(char *out, size_t n_bytes);
void manifest_libraries(char *out, size_t n_bytes);
void manifest_machine(char *out, size_t n_bytes);
/* The current date: "2026-11-21T10:44:00Z"; "" if the system does not report it. */
void manifest_date(char *out, size_t n_bytes);
/* The model name of the processor; "" if the system does not report it. */
void manifest_cpu_model(char *out, size_t n_bytes);

#endif
