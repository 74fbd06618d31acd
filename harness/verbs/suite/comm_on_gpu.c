/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_on_gpu.c - gradmark comm on emulated GPUs (harness/compute/cuda/on_host): for comm_cli_test. Its arguments are
 * those of comm; the variable COMM_GPUS of the environment says how many there are, 4 without it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/compute/cuda/on_host/on_host_test.h"
#include "harness/verbs/verb.h"

int main(int argc, char **argv)
{
    const char *n_gpus = getenv("COMM_GPUS");
    struct verb_call call;
    enum rc rc;

    on_host_set_n_devices(n_gpus ? atoi(n_gpus) : 4);
    rc = verb_call_open(&call, &verb_comm, argc - 1, argv + 1);
    if (rc == RC_OK)
        rc = verb_run(&verb_comm, &call);
    verb_call_close(&call);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc == RC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
