/* SPDX-License-Identifier: Apache-2.0 */
/* sync_test.c MODE - run sync_suite on a mode; sync_test.c mutant I: on mutant I, which it must catch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "allreduce/sync_allreduce.h"
#include "harness/train/suite/sync_mutants.h"
#include "harness/train/suite/sync_suite.h"
#include "ps/ps.h"

static int run_mutant(int i)
{
    struct sync_mode mutant;
    const char *name = sync_mutant(&mutant, i);

    if (sync_suite(&mutant, 1) > 0)
        return 0;
    fprintf(stderr, "mutant %s: the suite did not notice\n", name);
    return 1;
}

int main(int argc, char **argv)
{
    static const struct sync_mode *const all[] = { &sync_none, &sync_single, &sync_allreduce, &sync_ps };

    if (argc == 3 && strcmp(argv[1], "mutant") == 0)
        return run_mutant(atoi(argv[2]));
    for (size_t i = 0; argc == 2 && i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i]->module.name, argv[1]) == 0)
            return sync_suite(all[i], 0) > 0;
    return 2;
}
