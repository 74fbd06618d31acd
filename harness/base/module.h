/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module.h - a part of the program that is chosen by name: its options, checks, memory need, and the worlds it runs in.
 *
 * A kind (world, transport, compute backend, mode, collective, model) is a list of modules. The struct of each module
 * begins with a struct module. So one const entry in the kind's list makes it known to the parser, --help, the
 * manifest, the memory plan, the suites and `gradmark info`.
 *
 *     --reducer ring --ring.segment-bytes 256Ki
 *
 * Invariants
 *   -   Only a module's own file and the list of its kind name the module. Other code learns its properties from caps,
 *       needs_world, refuses_world and its hooks (lint: module_names).
 *   U2  An option of a module is spelled --NAME.OPTION. It is refused if the run does not use the module.
 *   U3  A kind's list has at least one module; names are unique in a kind, and so are NAME.OPTION over all kinds.
 *   U4  A module that is known but not built in is in `absent` with the reason, and can be found by name.
 */
#ifndef HARNESS_BASE_MODULE_H
#define HARNESS_BASE_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"

struct opt;
struct opt_group;

struct job_facts { /* the facts of its job that a module may use */
    int n_workers, n_servers;
    size_t n_params;
    size_t n_server_params;    /* of the server with the most; 0: equal on each, or no servers */
    size_t n_scattered_params; /* that a worker gathers and scatters, because servers have them in chunks; else 0 */
    int n_moments;             /* arrays as long as the parameters that the optimiser keeps */
    int n_replicas;            /* of each slice, on other servers */
    bool sends_in_tasks;       /* a worker sends in a task beside its main one */
    bool outlives_losses;      /* it continues without lost ranks */
    uint64_t n_batches;        /* that servers assign; 0: no assignment */
    size_t n_chunks;           /* chunks in which parameters are exchanged; 0: unknown, or not needed */
};

struct memory_need { /* bytes; per worker, per server, and for rank 0 in addition to its need as a worker */
    size_t worker_bytes, server_bytes, rank_0_bytes;
};

struct module {
    const char *name;                    /* "ring" */
    unsigned caps;                       /* the kind's header defines the bits */
    unsigned needs_world, refuses_world; /* caps of world.h that the job's world must have, and must not have */

    const struct opt *options; /* NULL: none */
    size_t opts_bytes;         /* of the struct that options fill */
    /* Optional (may be NULL): is the choice possible in this job? RC_INVAL names the option. Pure. */
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
    const struct module *(*at)(int i);  /* in the order of the list; NULL after the last */
    const struct module_absent *absent; /* NULL: none; ends with name NULL */
    const char *default_name;           /* of an option that takes one module; NULL: no default */
    const char *default_list;           /* of an option that takes several: "a,b"; NULL: likewise */
};

/* The name of module i of the kind, built in or not (base.U4); NULL after the last. Cannot fail. */
const char *module_name(const struct module_kind *kind, int i);
/* RC_INVAL names the nearest name; RC_UNSUPPORTED: known, but not built in; the message has the reason. */
enum rc module_find(const struct module **out, const struct module_kind *kind, const char *name) MUST_CHECK;
/* The caps of module i of the kind, built in or not. Cannot fail. */
unsigned module_caps(const struct module_kind *kind, int i);
/* The names of the modules, built in or not, that have all of caps: "a or b"; "": none. out[n_bytes]. */
void module_names_with(char *out, size_t n_bytes, const struct module_kind *kind, unsigned caps);
/* RC_INVAL: module, of kind, cannot run in this world; names the worlds that it can run in. */
enum rc module_check_world(const struct module_kind *kind, const struct module *module,
                           const struct module_kind *world_kind, const struct module *world) MUST_CHECK;
bool module_runs_in(const struct module *module, const struct module *world);

/* --- options of modules --- */

enum { MODULE_OPTIONS_BYTES = 1024, MAX_MODULE_GROUPS = 16 };

union module_values { /* the option structs of all modules of some kinds, in sequence; may be copied */
    max_align_t for_alignment;
    unsigned char bytes[MODULE_OPTIONS_BYTES];
};

/* kinds: NULL-terminated. group[MAX_MODULE_GROUPS]: one for each module with options, to be parsed into *into. Returns
 * their number, at most MAX_MODULE_GROUPS. Asserts that all fit. */
int module_opt_groups(struct opt_group *group, const struct module_kind *const *kinds, union module_values *into);
/* The struct of this module's options; NULL: no options. */
const void *module_options(const union module_values *from, const struct module_kind *const *kinds,
                           const struct module *module);
/* base.U2. used[i]: the module in use of kinds[i], NULL: none. RC_INVAL names the option and the module in use
 * instead. */
enum rc module_refuse_unused(const struct opt_group *group, int n_groups, const struct module_kind *const *kinds,
                             const struct module *const *used) MUST_CHECK;

/* Runs the check of every module in use. */
enum rc module_check_all(const union module_values *opts, const struct module_kind *const *kinds,
                         const struct module *const *used, const struct job_facts *facts) MUST_CHECK;
/* The sum over the modules in use. */
struct memory_need module_memory(const union module_values *opts, const struct module_kind *const *kinds,
                                 const struct module *const *used, const struct job_facts *facts);

#endif
