/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a part of the program that is chosen by name: its options, checks, memory need, the worlds it runs in.
 *
 * A kind (world, transport, compute backend, mode, collective, model) is a list of modules. The struct of each of them
 * begins with a struct module, so one const entry in the kind's list makes it known to the parser, --help, the
 * manifest, the memory plan, the suites and `gradmark info`.
 *
 *     --reducer ring --ring.chunk-bytes 256Ki
 *
 * Invariants
 *   U1  Only a module's own file and the list of its kind name the module. Other code learns its properties from caps,
 *       needs_world, refuses_world and its hooks (lint: module_names).
 *   U2  An option of a module is spelled --NAME.OPTION. It is refused where the run does not use the module.
 *   U3  A kind's list has at least one module; names are unique in a kind, and so are NAME.OPTION over all kinds.
 *   U4  A module that is known but not built in is in `absent` with the reason, and can be looked for by name.
 */
#ifndef HARNESS_BASE_MODULE_H
#define HARNESS_BASE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct opt;
struct opt_group;

struct job_facts { /* what a module may know of the job it is chosen for */
    int n_workers, n_servers;
    size_t n_params;
    size_t n_server_params;    /* of the server that has most; 0: as many on each, or there are none */
    size_t n_scattered_params; /* that a worker gathers and scatters, as servers have them in pieces; else 0 */
    int n_moments;             /* arrays as long as the parameters that the optimiser keeps */
    int n_replicas;            /* of what each server holds, on others; 1, too: room for it */
    bool sends_in_tasks;       /* a task of a worker sends beside its main one */
    bool outlives_losses;      /* it goes on without ranks that are lost */
    uint64_t n_batches;        /* that servers hand out; 0: they do not */
    size_t n_pieces;           /* in which parameters are exchanged; 0: not known, or of no use */
};

struct memory_need { /* bytes; of each worker, of each server, of rank 0 in addition to its need as a worker */
    size_t worker_bytes, server_bytes, rank_0_bytes;
};

struct module {
    const char *name;                    /* "ring" */
    unsigned caps;                       /* the kind's header has the bits */
    unsigned needs_world, refuses_world; /* caps of world.h that the job's world must have, must not have */

    const struct opt *options; /* NULL: none */
    size_t opts_bytes;         /* of the struct that options fill */
    /* Optional (may be NULL): is what was chosen possible in this job? RC_INVAL names the option. Pure. */
    enum rc (*check)(const void *opts, const struct job_facts *facts);
    /* Optional (may be NULL): what it allocates for this job. Pure. */
    struct memory_need (*memory)(const void *opts, const struct job_facts *facts);
};

struct module_absent {
    const char *name, *why_not;
    unsigned caps; /* it would have these if built in; rules of options are checked with them */
};

struct module_kind {
    const char *what;                   /* "reducer"; the option that chooses one is spelled --reducer */
    const struct module *(*at)(int i);  /* in the order of the list; NULL behind the last */
    const struct module_absent *absent; /* NULL: none; ends with name NULL */
    const char *default_name;           /* of an option that takes one module; NULL: it has no default */
    const char *default_list;           /* of an option that takes several: "a,b"; NULL: likewise */
};

/* The name of module i of the kind, built in or not (U4); NULL behind the last. Cannot fail. */
const char *module_name(const struct module_kind *kind, int i);
/* RC_INVAL names the nearest; RC_UNSUPPORTED: known, but not built in; the message has the reason. */
enum rc module_find(const struct module **out, const struct module_kind *kind, const char *name) MUST_CHECK;
/* The caps of module i of the kind, built in or not. Cannot fail. */
unsigned module_caps(const struct module_kind *kind, int i);
/* The names of the modules, built in or not, that have all of caps: "a or b"; "" when none has. out[n_bytes]. */
void module_names_with(char *out, size_t n_bytes, const struct module_kind *kind, unsigned caps);
/* RC_INVAL: module, of kind, cannot run in this world; names the worlds that it can run in. */
enum rc module_check_world(const struct module_kind *kind, const struct module *module,
                           const struct module_kind *world_kind, const struct module *world) MUST_CHECK;
bool module_runs_in(const struct module *module, const struct module *world);

/* --- options of modules --- */

enum { MODULE_OPTIONS_BYTES = 1024, MAX_MODULE_GROUPS = 16 };

union module_values { /* the option structs of all modules of some kinds, one behind the other; may be copied */
    max_align_t for_alignment;
    unsigned char bytes[MODULE_OPTIONS_BYTES];
};

/* kinds: NULL-terminated. group[MAX_MODULE_GROUPS]: one for each module with options, to be parsed into *into; returns
 * how many: at most MAX_MODULE_GROUPS. Asserts that all fit. */
int module_opt_groups(struct opt_group *group, const struct module_kind *const *kinds, union module_values *into);
/* The struct of this module's options; NULL: it has none. */
const void *module_options(const union module_values *from, const struct module_kind *const *kinds,
                           const struct module *module);
/* U2. used[i]: the module in use of kinds[i], NULL: none is. RC_INVAL names the option and what is in use instead. */
enum rc module_refuse_unused(const struct opt_group *group, int n_groups, const struct module_kind *const *kinds,
                             const struct module *const *used) MUST_CHECK;

/* Run the check of every module in use. */
enum rc module_check_all(const union module_values *opts, const struct module_kind *const *kinds,
                         const struct module *const *used, const struct job_facts *facts) MUST_CHECK;
/* The sum over the modules in use. */
struct memory_need module_memory(const union module_values *opts, const struct module_kind *const *kinds,
                                 const struct module *const *used, const struct job_facts *facts);

#endif
