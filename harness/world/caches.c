/* SPDX-License-Identifier: Apache-2.0 */
/* caches.c - see caches.h. */
#include "harness/world/caches.h"

#include <hwloc.h>

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
