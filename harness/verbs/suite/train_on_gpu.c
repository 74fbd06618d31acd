/* SPDX-License-Identifier: Apache-2.0 */
/*
 * train_on_gpu.c - gradmark train whose backend says that it is a GPU, which it is not: for parsers_cli_test, on
 * machines that have none. Its arguments are the options of train. The linker puts train_prepare() of this file before
 * the program's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/train/train.h"
#include "harness/verbs/verb.h"

enum rc __real_train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                             int n_groups, int n_given_ranks);
enum rc __wrap_train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                             int n_groups, int n_given_ranks);

static struct compute_backend gpu; /* the job's */

enum rc __wrap_train_prepare(struct train_job *out, const struct train_opts *opts, const struct opt_group *group,
                             int n_groups, int n_given_ranks)
{
    enum rc rc;

    TRY(__real_train_prepare(out, opts, group, n_groups, n_given_ranks));
    gpu = *out->compute;
    gpu.device_kind = "GPU";
    out->compute = &gpu;
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct verb_call call;
    enum rc rc = verb_call_open(&call, &verb_train, argc - 1, argv + 1);

    if (rc == RC_OK)
        rc = verb_train.run(&call);
    verb_call_close(&call);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc == RC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
