/* SPDX-License-Identifier: Apache-2.0 */
/* cores.c - core binding through hwloc; the contract is in cores.h. */
#include "harness/world/cores.h"

#include <hwloc.h>
#include <hwloc/linux.h>
#include <string.h>
#include <unistd.h>

struct cores {
    hwloc_topology_t topology;
    hwloc_bitmap_t allowed;
    hwloc_obj_type_t type; /* HWLOC_OBJ_CORE, or HWLOC_OBJ_PU where cores are not shown */
    int n_cores;
};

static void cores_fini(struct cores *c)
{
    if (c->allowed != NULL)
        hwloc_bitmap_free(c->allowed);
    if (c->topology != NULL)
        hwloc_topology_destroy(c->topology);
    memset(c, 0, sizeof *c);
}

/* The allowed part of the next core after prev that has one, in `part`; NULL at the end. */
static hwloc_obj_t next_core(const struct cores *c, hwloc_obj_t prev, hwloc_bitmap_t part)
{
    hwloc_obj_t core = prev;

    while ((core = hwloc_get_next_obj_by_type(c->topology, c->type, core)) != NULL) {
        hwloc_bitmap_and(part, core->cpuset, c->allowed);
        if (!hwloc_bitmap_iszero(part))
            return core;
    }
    return NULL;
}

/* The main thread's set, not the caller's: the caller may be bound already. */
static enum rc read_allowed(struct cores *c)
{
    if (hwloc_linux_get_tid_cpubind(c->topology, getpid(), c->allowed) != 0)
        return rc_raise(RC_IO, "the allowed cores cannot be read");
    return RC_OK;
}

static enum rc read_set(struct cores *c, const struct core_set *set)
{
    for (unsigned i = 0; i < CORES_MAX_THREADS; i++)
        if (set->word[i / 64] >> (i % 64) & 1u && hwloc_bitmap_set(c->allowed, i) != 0)
            return rc_raise(RC_NOMEM, "out of memory for a set of cores");
    return RC_OK;
}

/* set NULL: the cores allowed to this process. */
static enum rc cores_init(struct cores *c, const struct core_set *set)
{
    hwloc_bitmap_t part = NULL;
    enum rc rc = RC_OK;

    memset(c, 0, sizeof *c);
    c->allowed = hwloc_bitmap_alloc();
    part = hwloc_bitmap_alloc();
    if (c->allowed == NULL || part == NULL)
        FAIL(RC_NOMEM, "out of memory for a set of cores");
    if (hwloc_topology_init(&c->topology) != 0)
        FAIL(RC_IO, "the hardware topology cannot be read");
    hwloc_topology_set_all_types_filter(c->topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(c->topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(c->topology) != 0)
        FAIL(RC_IO, "the hardware topology cannot be read");
    TRY(set ? read_set(c, set) : read_allowed(c));
    c->type = hwloc_get_nbobjs_by_type(c->topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    for (hwloc_obj_t core = next_core(c, NULL, part); core != NULL; core = next_core(c, core, part))
        c->n_cores++;
out:
    if (part != NULL)
        hwloc_bitmap_free(part);
    if (rc != RC_OK)
        cores_fini(c);
    return rc;
}

struct core_shares cores_share_out(int n_cores, int n_workers, int n_each, int n_servers)
{
    const int n_part = n_cores / n_workers;
    struct core_shares s = { .n_workers = n_workers, .n_each = n_each > 0 && n_each < n_part ? n_each : n_part };

    if (s.n_each > 0 && n_workers * s.n_each + n_servers <= n_cores)
        s.n_servers = n_servers;
    return s;
}

static enum rc bind_within(const struct core_set *set, int first, int n)
{
    struct cores c = { 0 };
    hwloc_bitmap_t part = NULL, own = NULL;
    int i = 0;
    enum rc rc;

    TRY(cores_init(&c, set));
    part = hwloc_bitmap_alloc();
    own = hwloc_bitmap_alloc();
    if (part == NULL || own == NULL)
        FAIL(RC_NOMEM, "out of memory for a set of cores");
    for (hwloc_obj_t core = next_core(&c, NULL, part); core != NULL; core = next_core(&c, core, part), i++)
        if (i >= first && i < first + n && hwloc_bitmap_or(own, own, part) != 0)
            FAIL(RC_NOMEM, "out of memory for a set of cores");
    if (hwloc_set_cpubind(c.topology, own, HWLOC_CPUBIND_THREAD) != 0)
        FAIL(RC_IO, "binding to %d of the %s cores, from core %d on, was refused", n, set ? "given" : "allowed", first);
out:
    if (part != NULL)
        hwloc_bitmap_free(part);
    if (own != NULL)
        hwloc_bitmap_free(own);
    cores_fini(&c);
    return rc;
}

enum rc cores_bind_self(int first, int n)
{
    return bind_within(NULL, first, n);
}

enum rc cores_bind_self_within(const struct core_set *set, int first, int n)
{
    return bind_within(set, first, n);
}

int cores_allowed_count(void)
{
    struct cores c;
    int n_cores = 1;

    if (cores_init(&c, NULL) == RC_OK) {
        n_cores = c.n_cores > 0 ? c.n_cores : 1;
        cores_fini(&c);
    } else {
        rc_clear();
    }
    return n_cores;
}

static void add_to_set(struct core_set *out, hwloc_const_bitmap_t threads)
{
    for (int i = hwloc_bitmap_first(threads); i >= 0 && i < CORES_MAX_THREADS; i = hwloc_bitmap_next(threads, i))
        out->word[i / 64] |= 1ULL << (i % 64);
}

void cores_allowed_set(struct core_set *out)
{
    struct cores c;

    memset(out, 0, sizeof *out);
    if (cores_init(&c, NULL) != RC_OK) {
        rc_clear();
        return;
    }
    add_to_set(out, c.allowed);
    cores_fini(&c);
}

void cores_thread_set(struct core_set *out)
{
    struct cores c;

    memset(out, 0, sizeof *out);
    if (cores_init(&c, NULL) != RC_OK) {
        rc_clear();
        return;
    }
    if (hwloc_get_cpubind(c.topology, c.allowed, HWLOC_CPUBIND_THREAD) == 0)
        add_to_set(out, c.allowed);
    cores_fini(&c);
}

void cores_left_over(const struct core_shares *shares, struct core_set *out)
{
    hwloc_bitmap_t part = hwloc_bitmap_alloc();
    struct cores c;
    int i = 0;

    memset(out, 0, sizeof *out);
    if (part == NULL || cores_init(&c, NULL) != RC_OK) {
        rc_clear();
        goto out;
    }
    for (hwloc_obj_t core = next_core(&c, NULL, part); core != NULL; core = next_core(&c, core, part))
        if (i++ >= shares->n_workers * shares->n_each + shares->n_servers)
            add_to_set(out, part);
    cores_fini(&c);
out:
    if (part != NULL)
        hwloc_bitmap_free(part);
}

void cores_bind_self_to(const struct core_set *set)
{
    struct cores c;

    if (cores_init(&c, set) != RC_OK) {
        rc_clear();
        return;
    }
    if (!hwloc_bitmap_iszero(c.allowed))
        (void)hwloc_set_cpubind(c.topology, c.allowed, HWLOC_CPUBIND_THREAD);
    cores_fini(&c);
}

int cores_in_set(const struct core_set *set)
{
    struct cores c;
    int n_cores = 0;

    if (cores_init(&c, set) == RC_OK) {
        n_cores = c.n_cores;
        cores_fini(&c);
    } else {
        rc_clear();
    }
    return n_cores;
}

/* Of all caches of the highest level that there is. */
static size_t sum_highest(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t level[] = { HWLOC_OBJ_L5CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
                                              HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE };
    size_t n_bytes = 0;

    for (size_t i = 0; n_bytes == 0 && i < sizeof level / sizeof *level; i++)
        for (hwloc_obj_t cache = NULL; (cache = hwloc_get_next_obj_by_type(topology, level[i], cache)) != NULL;)
            n_bytes += (size_t)cache->attr->cache.size;
    return n_bytes;
}

size_t caches_last_level_bytes(void)
{
    hwloc_topology_t topology;
    size_t n_bytes = 0;

    if (hwloc_topology_init(&topology) != 0)
        return 0;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) == 0)
        n_bytes = sum_highest(topology);
    hwloc_topology_destroy(topology);
    return n_bytes;
}
