/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - the spans of every task of every rank in one file for Perfetto and chrome://tracing: the JSON object
 * format of Chrome's trace events.
 *
 * Each rank packs its rings into bytes without pointers. Rank 0 gathers them and writes the file.
 *
 * Invariants
 *   L1  A rank is a process. Its pid is its rank in the run + 1, since viewers reserve 0. A task is a thread. All tids
 *       of a file differ, none is 0, and the tid of a rank's first task is its pid, so that viewers show it first. A
 *       span is one complete event ("X") with its step. It has its bucket and chunk, its bytes, and the time of
 *       submission (submitted_us, as ts; negative before ts 0) if it has them. Every process and thread has a name, in
 *       which ranks count from 0, and a place (metadata events).
 *   L2  ts and dur are microseconds with the nanoseconds as three decimals, exactly. ts 0 is the start of the earliest
 *       span of all ranks.
 *   L3  Events of a thread are in the order of ts, an outer one before those inside it. Any two nest or are disjoint,
 *       as the format demands. Rings with other spans are refused (RC_BUG), never shown wrongly.
 *   L4  otherData holds the clock, the number of spans, the first and the last step of these ("steps"; null: no
 *       spans), the number of spans that each ring lost (world.S1), and the caller's facts ("run").
 *   L5  No file is at path before it is complete (file.h).
 *   L6  The bytes of another rank are not trusted: they are RC_MISMATCH unless all sizes, names and L3 hold. No byte
 *       after their end is read.
 *   L7  In virtual time the file has no fact of a host and no real time: equal runs give equal files.
 */
#ifndef HARNESS_REPORT_TIMELINE_H
#define HARNESS_REPORT_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/report/record.h"
#include "harness/world/span.h"
#include "harness/world/world.h"

struct timeline_opts {
    const char *path;              /* read on rank 0 only */
    const char *role;              /* of this rank: "worker", "server"; a short text; may be NULL */
    struct span_ring *const *ring; /* [n_rings], main task first; NULL entries are skipped; names differ */
    size_t n_rings;
    const struct record *facts; /* read on rank 0 only; may be NULL. In sim: no fact of a host (report.L7) */
    uint64_t *zero_ns;          /* rank 0: takes the time of ts 0; untouched if there is no file; may be NULL */
    enum rc *written;           /* rank 0: takes the error of writing the file, with rc_message(), in place of the
                                   return value: all spans were gathered and no other rank is affected; may be NULL */
    size_t max_round_bytes;     /* gathered from a rank at a time, equal on all ranks; 0: 64 MiB from all together */
};

/*
 * Gather the rings of all ranks and write the file on rank 0. Collective over w, called by the main task of each rank
 * after all tasks handed over their rings (world.S3). Takes no virtual time. The rings are only read.
 *
 * Memory: 56 bytes for each span of this rank; on rank 0 also 56 bytes for each span of all ranks.
 *
 * Errors: RC_BUG if a ring breaks report.L3, two tasks of this rank have one name, or a name is longer than
 * SPAN_NAME_BYTES; RC_INVAL if a rank has over 2^32 spans; RC_NOMEM. On rank 0 also RC_INVAL and RC_IO, which name the
 * file; RC_MISMATCH (report.L6). Elsewhere RC_PEER if a rank failed before it sent its spans. A rank that fails ends
 * the other ranks as always (world.W4).
 */
enum rc timeline_gather_and_write(struct world *w, const struct timeline_opts *opts) MUST_CHECK;

/* The parts of timeline_gather_and_write(). */

struct timeline_source {
    int rank;
    const char *role, *host; /* may be NULL */
    struct span_ring *const *ring;
    size_t n_rings;
    struct world *world; /* ticks while its rank packs; may be NULL */
};

/* The spans of one rank as bytes without pointers, in the order of report.L3; the caller frees them. RC_BUG, RC_INVAL,
 * RC_NOMEM. */
enum rc timeline_pack(void **out, size_t *n_bytes, const struct timeline_source *from) MUST_CHECK;

/* The spans of a rank in packed bytes, which are borrowed and need no alignment. */
struct timeline_rank {
    const unsigned char *bytes;
    int rank;
    uint32_t n_tasks, n_names;
    uint64_t n_spans;
};

/* Check and read the bytes that `rank` packed. RC_MISMATCH (report.L6) names the rank; *out is then untouched.
 * O(n_bytes). */
enum rc timeline_unpack(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank) MUST_CHECK;

/* Write the file of n_ranks (at least 1) ranks in increasing order. RC_INVAL, RC_IO, RC_NOMEM; nothing is then at path
 * (report.L5). */
enum rc timeline_write(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                       const struct record *facts) MUST_CHECK;

#endif
