/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - the spans of every task of every rank as one file that Perfetto and chrome://tracing open: the JSON
 * object format of Chrome's trace events.
 *
 * Each rank packs its rings into bytes without pointers, rank 0 gathers them and writes the file.
 *
 * Invariants
 *   L1  A rank is a process: its number in the run + 1 is the pid, since viewers take 0 for none or for their own. A
 *       task is a thread: no two tids of a file are equal, none is 0, and the one of a rank's first task is its pid, so
 *       that viewers show it first. A span is one complete event ("X"), with its step, and its bucket and the piece of
 *       it, its bytes and when it was submitted (submitted_us, as ts; before ts 0 negative) where it has them. Every
 *       process and thread has a name, in which ranks count from 0, and a place (metadata events).
 *   L2  ts and dur are microseconds with the nanoseconds as three decimals, exactly. ts 0 is the start of the earliest
 *       span of all ranks.
 *   L3  Events of a thread are in the order of ts, an outer one before those inside it. Any two nest or are disjoint,
 *       as the format demands; rings with other spans are refused (RC_BUG), never shown wrongly.
 *   L4  otherData holds the clock, how many spans were written, the first and the last step of these ("steps"; null:
 *       no spans), how many each ring lost (span.h, S1), and the caller's facts ("run").
 *   L5  No file is at path before it is complete (file.h).
 *   L6  The bytes of another rank are not trusted: they are RC_MISMATCH unless all sizes, names and L3 hold, and no
 *       byte behind their end is read.
 *   L7  Where time is virtual nothing of a host and no real time enters: equal runs give equal files.
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
    struct span_ring *const *ring; /* [n_rings], main task first; NULL entries are left out; names differ */
    size_t n_rings;
    const struct record *facts; /* read on rank 0 only; may be NULL. In sim: no fact of a host (L7) */
    enum rc *written;           /* on rank 0: takes the error of writing the file, with rc_message(), in place of the
                                   return value: the spans have arrived, and no other rank is concerned; may be NULL */
    size_t max_round_bytes;     /* gathered from a rank at a time, the same on all; 0: 64 MiB from all together */
};

/*
 * Gather the rings of all ranks and write the file on rank 0. Collective over w, by the main task of each rank, after
 * all tasks handed over their rings (span.h, S3). Takes no virtual time. The rings are read only.
 *
 * Memory: 56 bytes a span on each rank, and 56 for every span of all on rank 0.
 *
 * Errors: RC_BUG, a ring breaks L3, two tasks of this rank have one name, or a name is longer than SPAN_NAME_BYTES.
 * RC_INVAL, over 2^32 spans in a rank. RC_NOMEM. On rank 0 also RC_INVAL and RC_IO, which name the file; RC_MISMATCH
 * (L6). Elsewhere RC_PEER when a rank failed before it gave its spans; a rank that fails ends the others as always
 * (world.h, W4).
 */
enum rc timeline_gather_and_write(struct world *w, const struct timeline_opts *opts) MUST_CHECK;

/* Its parts. */

struct timeline_source {
    int rank;
    const char *role, *host; /* may be NULL */
    struct span_ring *const *ring;
    size_t n_rings;
    struct world *world; /* ticks while its rank works; may be NULL */
};

/* The spans of one rank as bytes without pointers, in the order of L3; the caller frees them. RC_BUG, RC_INVAL,
 * RC_NOMEM. */
enum rc timeline_pack(void **out, size_t *n_bytes, const struct timeline_source *from) MUST_CHECK;

/* A rank's spans in packed bytes, which are borrowed and may lie at any address. */
struct timeline_rank {
    const unsigned char *bytes;
    int rank;
    uint32_t n_tasks, n_names;
    uint64_t n_spans;
};

/* Look at the bytes that `rank` packed. L6: RC_MISMATCH names the rank, *out is then untouched. O(n_bytes). */
enum rc timeline_unpack(struct timeline_rank *out, const void *bytes, size_t n_bytes, int rank) MUST_CHECK;

/* Write the file of n_ranks (at least 1) ranks, whose numbers rise. RC_INVAL, RC_IO, RC_NOMEM; nothing is then at path
 * (L5). */
enum rc timeline_write(const char *path, const struct timeline_rank *rank, int n_ranks, bool is_virtual,
                       const struct record *facts) MUST_CHECK;

#endif
