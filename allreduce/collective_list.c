/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective_list.c - all algorithms: the values of --reducer. ENTRY(name): the file name.c defines collective_name.
 * The build compiles it, and makes a test of each suite for it. CMakeLists.txt reads its .module.caps as text, to know
 * which tests apply. Algorithms of another library (A9) are here only if that library was found. DEVICE_ENTRY: those of
 * a library of devices, which have separate tests.
 */
#include "allreduce/collective_list.h"

#include "harness/exchange/collective.h"

#define COLLECTIVES(ENTRY)  \
    ENTRY(ring)             \
    ENTRY(halving_doubling) \
    ENTRY(tree)             \
    ENTRY(shm)              \
    ENTRY(hierarchical)     \
    ENTRY(root)             \
    ENTRY(auto)

#if GRADMARK_HAVE_MPI
#define COLLECTIVES_OF_MPI(OPAQUE_ENTRY) OPAQUE_ENTRY(mpi)
#else
#define COLLECTIVES_OF_MPI(OPAQUE_ENTRY)
#endif

#if GRADMARK_HAVE_GLOO
#define COLLECTIVES_OF_GLOO(OPAQUE_ENTRY) OPAQUE_ENTRY(gloo)
#else
#define COLLECTIVES_OF_GLOO(OPAQUE_ENTRY)
#endif

#if GRADMARK_HAVE_NCCL
#define DEVICE_COLLECTIVES(DEVICE_ENTRY) DEVICE_ENTRY(nccl) DEVICE_ENTRY(nccl_hierarchical)
#else
#define DEVICE_COLLECTIVES(DEVICE_ENTRY)
#endif

#define DECLARE(name) extern const struct collective_ops collective_##name;
#define ADDRESS(name) &collective_##name.module,

COLLECTIVES(DECLARE)
COLLECTIVES_OF_MPI(DECLARE)
COLLECTIVES_OF_GLOO(DECLARE)
DEVICE_COLLECTIVES(DECLARE)

static const struct module *collective_at(int i)
{
    static const struct module *const all[] = { COLLECTIVES(ADDRESS) COLLECTIVES_OF_MPI(ADDRESS)
                                                    COLLECTIVES_OF_GLOO(ADDRESS) DEVICE_COLLECTIVES(ADDRESS) NULL };

    return all[i];
}

static const struct module_absent absent[] = {
#if !GRADMARK_HAVE_NCCL
    { "nccl", GRADMARK_NCCL_WHY_NOT, COLL_ALLREDUCE | COLL_DEVICE },
    { "nccl-hierarchical", GRADMARK_NCCL_WHY_NOT, COLL_ALLREDUCE | COLL_DEVICE },
#endif
#if !GRADMARK_HAVE_MPI
    { "mpi", GRADMARK_MPI_WHY_NOT, COLL_OPAQUE },
#endif
#if !GRADMARK_HAVE_GLOO
    { "gloo", GRADMARK_GLOO_WHY_NOT, COLL_OPAQUE },
#endif
    { NULL, NULL, 0 },
};

const struct module_kind collective_kind = { "reducer", collective_at, absent, "ring", NULL };
