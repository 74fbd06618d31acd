/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_pack.h - layout of the packed spans of a rank: a head, its tasks, the names of spans, then the spans of the
 * first task, of the second, ... All ranks run the same program on machines of one byte order. Private to timeline*.c.
 */
#ifndef HARNESS_REPORT_TIMELINE_PACK_H
#define HARNESS_REPORT_TIMELINE_PACK_H

#include <stdint.h>

#include "harness/report/timeline.h"

enum {
    TIMELINE_PROCESS_BYTES = 256, /* with the terminator; holds a role and a host name */
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
    int32_t segment, chunk;
    uint32_t step;
    uint32_t name;   /* index */
    uint32_t order;  /* position in the ring */
    uint32_t unused; /* 0 */
};

/* Report now and then that this rank, which works on n spans, is alive (world.P1). w: may be NULL. */
static inline void timeline_tick(struct world *w, uint64_t n)
{
    if (w && n % 1024 == 0)
        world_tick(w);
}

/* Copies from the packed bytes: i < n_tasks, n_names, or n_spans of all tasks together. */
struct timeline_task timeline_task_at(const struct timeline_rank *r, uint32_t i);
struct timeline_name timeline_name_at(const struct timeline_rank *r, uint32_t i);
struct timeline_span timeline_span_at(const struct timeline_rank *r, uint64_t i);
/* The name of the process; lent as long as the bytes. */
const char *timeline_process(const struct timeline_rank *r);

#endif
