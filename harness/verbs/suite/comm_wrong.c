/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_wrong.c - gradmark comm whose collectives leave one element wrong on rank 1, in each call: for comm_cli_test.
 * Its arguments are those of comm. The linker puts collective_run() of this file before the program's.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/exchange/collective.h"
#include "harness/net/transport.h"
#include "harness/verbs/verb.h"
#include "harness/world/world.h"

enum rc __real_collective_run(struct collective *c, const struct collective_call *call, float *data);
enum rc __wrap_collective_run(struct collective *c, const struct collective_call *call, float *data);

enum rc __wrap_collective_run(struct collective *c, const struct collective_call *call, float *data)
{
    enum rc rc;

    TRY(__real_collective_run(c, call, data));
    if (c->env.transport->world->rank == 1 && data && call->n_elems > 0)
        data[call->n_elems - 1] += 0.5f;
out:
    return rc;
}

int main(int argc, char **argv)
{
    struct verb_call call;
    enum rc rc = verb_call_open(&call, &verb_comm, argc - 1, argv + 1);

    if (rc == RC_OK)
        rc = verb_run(&verb_comm, &call);
    verb_call_close(&call);
    if (rc != RC_OK)
        fprintf(stderr, "%s\n", rc_message());
    return rc == RC_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
