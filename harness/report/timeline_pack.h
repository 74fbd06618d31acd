/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_pack.h - how a rank's spans lie in packed bytes: a head, its tasks, the names of spans, and the spans of the
 * first task, of the second, ... All ranks run the same program on machines of one byte order. Private to timeline*.c.
 */
#ifndef HARNESS_REPORT_TIMELINE_PACK_H
#define HARNESS_REPORT_TIMELINE_PACK_H

#include <stdint.h>

#include "harness/report/timeline.h"

enum {
    TIMELINE_PROCESS_BYTES = 256, /* with the terminator: a role and a host's name fit */
    TIMELINE_MAX_NAMES = 256,     /* different names of spans in one rank */
    TIMELINE_MAX_DEPTH = 64,      /* spans inside spans */
};

#define TIMELINE_MAGIC UINT64_C(0x334e4c544b524d47) /* "GMRKTLN3" */

struct timeline_head {
    uint64_t magic, n_spans;
    int32_t rank;
    uint32_t n_tasks, n_names, unused; /* unused: 0 */
    char process[TIMELINE_PROCESS_BYTES];
};

struct timeline_task {
    uint64_t n_spans, n_lost;
    char name[SPAN_NAME_BYTES];
};

struct timeline_name {
    char text[SPAN_NAME_BYTES];
};

struct timeline_span {
    uint64_t start_ns, end_ns, n_bytes, submitted_ns;
    int32_t segment, piece;
    uint32_t step;
    uint32_t name;   /* index */
    uint32_t order;  /* in which the ring held it */
    uint32_t unused; /* 0 */
};

/* The rank that works on n spans shows now and then that it is alive (world/peers.h, P1). w: may be NULL. */
static inline void timeline_tick(struct world *w, uint64_t n)
{
    if (w && n % 1024 == 0)
        world_tick(w);
}

/* Copies out of the bytes: i < n_tasks, n_names, n_spans of all tasks together. */
struct timeline_task timeline_task_at(const struct timeline_rank *r, uint32_t i);
struct timeline_name timeline_name_at(const struct timeline_rank *r, uint32_t i);
struct timeline_span timeline_span_at(const struct timeline_rank *r, uint64_t i);
/* The name of the process; lent with the bytes. */
const char *timeline_process(const struct timeline_rank *r);

#endif
