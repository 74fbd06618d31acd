/* SPDX-License-Identifier: Apache-2.0 */
/* comm_opts.h - the options of gradmark comm, and how all its types use them. Private to comm_verb.c and comm_ps.c. */
#ifndef HARNESS_VERBS_COMM_OPTS_H
#define HARNESS_VERBS_COMM_OPTS_H

#include "harness/base/module.h"
#include "harness/bench/comm_pace.h"
#include "harness/bench/comm_type.h"
#include "harness/report/progress.h"
#include "harness/verbs/machine.h"
#include "harness/verbs/verb.h"

enum { COMM_MESSAGE_LIMIT_MS = 240000 };

#define COMM_MOST_BYTES ((size_t)1 << 34) /* the largest message size */

struct comm_opts {
    const char *reducer, *bytes, *records, *chart;
    uint64_t repeats, warmup, rotate_bytes, servers, partition_bytes;
    double budget_s;
    bool out_of_place;
    struct machine_opts machine;
    union module_values modules;
};

extern const struct module_kind *const comm_kinds[];
extern const struct verb_group comm_groups[];
extern const struct opt comm_format_table[];
extern const struct rules comm_rules; /* which of the options do not go together */

/* What a type has no use for is refused, not passed over. type: COMM_N_TYPES: comm ps. RC_INVAL. */
enum rc comm_check_use(const struct verb_call *call, int type, bool is_on_device) MUST_CHECK;
/* RC_INVAL, RC_IO: an output file cannot be written. */
enum rc comm_check_files(const struct comm_opts *o) MUST_CHECK;
/* Bytes to rotate over, per host; 0: hot. *cache_bytes := size of its last-level caches; 0: not known. */
size_t comm_rotated_bytes(const struct verb_call *call, size_t *cache_bytes);
/* Number of ranks that use the memory of this host; 0: not known. */
int comm_ranks_here(const struct machine *m);
/* RC_INVAL: the host has less memory than its ranks need. */
enum rc comm_check_memory(const char *bytes, const struct machine *m, size_t rank_bytes) MUST_CHECK;

struct comm_progress { /* zeroed: nothing was shown yet */
    struct progress progress;
    bool has_progress;
    uint64_t shown_ns;
};
void comm_end_progress(struct comm_progress *p);
/* The plan, except for its sizes. */
struct comm_plan comm_plan_of(const struct comm_opts *o, struct comm_progress *p);

/* --- comm_ps.c --- */

/* gradmark comm ps */
enum rc comm_ps_run(struct verb_call *call) MUST_CHECK;

#endif
