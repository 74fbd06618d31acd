/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - what ran: build, machine, libraries; the caller adds options and ranks.
 * With `virtual_only` (sim) nothing of this machine and no date: records of equal runs are equal.
 */
#ifndef HARNESS_REPORT_MANIFEST_H
#define HARNESS_REPORT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"
#include "harness/report/record.h"

/* Adds: git_commit, git_dirty, compiler, compiler_flags, build_type, version; and unless virtual_only:
 * host, kernel, cpu_model, cores_count, memory_bytes, date_utc, and versions of hwloc, OpenBLAS,
 * ZeroMQ, MPI, as a child record "libraries", and the variables of this process's environment that change what
 * they do (environment.h). */
void manifest_fill(struct record *r, bool virtual_only);
/* "1.0.0 (commit 1234567, changed)": one line for people. out[n_bytes]. */
void manifest_version(char *out, size_t n_bytes);
/* Now: "2026-11-21T10:44:00Z"; "" where the system does not report it. */
void manifest_date(char *out, size_t n_bytes);
/* The model name of the processor; "" where the system does not report it. */
void manifest_cpu_model(char *out, size_t n_bytes);

#endif
