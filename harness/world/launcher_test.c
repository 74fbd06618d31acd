/* SPDX-License-Identifier: Apache-2.0 */
/* launcher_test.c - who started a process, by what launchers set for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/world.h"

/* What a launcher sets, "NAME=VALUE", and what is to be read. */
static const struct {
    const char *set[6];
    struct launcher is;
} cases[] = {
    { { NULL }, { NULL, 0, 1, 1, 0, false, false } },
    { { "OMPI_COMM_WORLD_RANK=5", "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=4",
        "OMPI_COMM_WORLD_LOCAL_RANK=1" },
      { "mpirun", 5, 8, 4, 1, false, false } },
    { { "PMI_RANK=3", "PMI_SIZE=4", "MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=1" },
      { "mpirun", 3, 4, 2, 1, false, false } },
    { { "PMI_RANK=3", "PMI_SIZE=4" }, { "mpirun", 3, 4, 0, -1, false, false } },
    { { "PMI_RANK=3", "PMI_SIZE=4", "PALS_LOCAL_RANKID=2" }, { "mpirun", 3, 4, 0, 2, false, false } },
    { { "SLURM_PROCID=6", "SLURM_STEP_NUM_TASKS=8", "SLURM_NTASKS_PER_NODE=4", "SLURM_LOCALID=2" },
      { "srun", 6, 8, 4, 2, false, false } },
    { { "PMI_RANK=6", "PMI_SIZE=8", "SLURM_LOCALID=2" }, { "mpirun", 6, 8, 0, 2, false, false } }, /* srun --mpi=pmi2 */
    { { "SLURM_PROCID=0", "SLURM_NTASKS=4", "SLURM_NTASKS_PER_NODE=4", "SLURM_LOCALID=0" },
      { NULL, 0, 1, 1, 0, false, false } }, /* a batch script: no task of srun */
    { { "FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=6", "FLUX_TASK_LOCAL_ID=1" }, { "flux run", 5, 6, 0, 1, false, false } },
    { { "PMI_RANK=5", "PMI_SIZE=6", "FLUX_TASK_RANK=5", "FLUX_JOB_SIZE=6", "FLUX_TASK_LOCAL_ID=1" },
      { "mpirun", 5, 6, 0, 1, false, false } },
    { { "GRADMARK_GANG_RANK=3", "GRADMARK_GANG_MEMBERS=rank@a,rank@b,rank@b,rank@b", "GRADMARK_GANG_HERE=2/3" },
      { "gradmark launch", 3, 4, 3, 2, false, false } },
    { { "GRADMARK_GANG_RANK=0", "GRADMARK_GANG_MEMBERS=rank@a", "GRADMARK_GANG_JOIN_FILE=f" },
      { "gradmark launch", 0, 1, 0, -1, false, true } },
    { { "GRADMARK_GANG_RANK=0", "GRADMARK_GANG_MEMBERS=worker@a:1,ps@b:2", "GRADMARK_GANG_BY_HAND=1" },
      { "a list of hosts", 0, 2, 0, -1, true, true } },
    { { "GRADMARK_GANG_RANK=2", "GRADMARK_GANG_MEMBERS=worker@a:1,ps@b:2" }, { NULL, 0, 1, 1, 0, false, false } },
};

static void set_or_unset(const char *set, bool sets)
{
    char name[64];

    snprintf(name, sizeof name, "%.*s", (int)strcspn(set, "="), set);
    assert_int_equal(sets ? setenv(name, strchr(set, '=') + 1, 1) : unsetenv(name), 0);
}

UNIT_TEST(launchers_are_read)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) /* this test may have been launched, too */
        for (int k = 0; cases[i].set[k]; k++)
            set_or_unset(cases[i].set[k], false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; cases[i].set[k]; k++)
            set_or_unset(cases[i].set[k], true);
        const struct launcher l = world_launcher(), *is = &cases[i].is;
        if ((l.name ? !is->name || strcmp(l.name, is->name) != 0 : is->name != NULL) || l.rank != is->rank ||
            l.n_ranks != is->n_ranks || l.n_host_ranks != is->n_host_ranks || l.host_rank != is->host_rank ||
            l.is_by_hand != is->is_by_hand || l.lets_join != is->lets_join)
            fail_msg("case %zu: %s, rank %d of %d, %d of %d on its host%s", i, l.name ? l.name : "none", l.rank,
                     l.n_ranks, l.host_rank, l.n_host_ranks, l.lets_join ? ", others may join" : "");
        for (int k = 0; cases[i].set[k]; k++)
            set_or_unset(cases[i].set[k], false);
    }
}

UNIT_MAIN("launcher")
