/* SPDX-License-Identifier: Apache-2.0 */
/* autotune_values_test.c - what trials ask of the world beside the job itself. */
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/campaign/autotune.h"
#include "harness/train/suite/train_kit.h"

/* Two ranks that a launcher started. Trials that cut the gradients may overlap where workers are on several hosts. */
UNIT_TEST(trials_ask_for_tasks)
{
    static const struct {
        const char *options;
        bool has_tasks, are_optional;
    } c[] = {
        { "--transport mpi", true, true },
        { "--transport mpi --bucket-bytes 8Ki", true, true }, /* the job itself */
        { "--transport mpi --overlap off", false, false },
        { "--transport mpi --overlap on", true, false },
        { "--transport mpi --model linear --trajectory f", false, false },
    };

    for (size_t i = 0; i < sizeof c / sizeof *c; i++) {
        struct opt_group group[TRAIN_MAX_OPT_GROUPS];
        const struct autotune_opts tune = { .budget_s = 1, .file = "" };
        struct autotune_plan plan;
        struct train_job job = { 0 };
        struct train_opts none;
        char options[256];
        (void)snprintf(options, sizeof options, "--world mpi --mode allreduce%s %s",
                       strstr(c[i].options, "--model") ? "" : " --model lenet", c[i].options);
        const enum rc rc = kit_prepare_launched(&job, options, 2);
        if (rc == RC_UNSUPPORTED) /* built without MPI */
            continue;
        if (rc != RC_OK)
            fail_msg("%s: %s", options, rc_message());
        assert_int_equal(autotune_plan(&plan, &tune, &job, group, train_opt_groups(group, &none)), RC_OK);
        struct world_opts world = train_world_opts(&job);
        autotune_ask_world(&world, &plan, &job);
        if (world.has_tasks != c[i].has_tasks || world.tasks_are_optional != c[i].are_optional)
            fail_msg("%s: tasks %d, optional %d", options, world.has_tasks, world.tasks_are_optional);
        train_job_free(&job);
    }
}

UNIT_MAIN("autotune_values")
