/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unopened.c RANKS VERB [OPTION ...] - gradmark comm or calibrate where the compute of a rank does not open, for
 * refusal_cli_test: of rank RANKS, or of "all". Each process tells whether that was an error of the input, and which,
 * with exit code 0, so that no launcher ends the others. The linker puts compute_open() of this file before the
 * program's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/compute/compute.h"
#include "harness/verbs/verb.h"
#include "harness/world/world.h"

enum rc __real_compute_open(struct compute **out, const struct compute_backend *backend, const struct compute_env *env);
enum rc __wrap_compute_open(struct compute **out, const struct compute_backend *backend, const struct compute_env *env);

static const char *ranks = "";

enum rc __wrap_compute_open(struct compute **out, const struct compute_backend *backend, const struct compute_env *env)
{
    const struct world *w = env->arg; /* machine_open_compute() */

    if (w && (strcmp(ranks, "all") == 0 || w->rank == atoi(ranks)))
        return rc_raise(RC_UNSUPPORTED, "compute %s: the test does not open it", backend->module.name);
    return __real_compute_open(out, backend, env);
}

int main(int argc, char **argv)
{
    const struct verb *v = argc > 2 && strcmp(argv[2], "comm") == 0 ? &verb_comm : &verb_calibrate;
    struct verb_call call;

    if (argc < 3)
        return EXIT_FAILURE;
    ranks = argv[1];
    enum rc rc = verb_call_open(&call, v, argc - 3, argv + 3);
    if (rc == RC_OK)
        rc = verb_run(v, &call);
    printf("%s: %s: %s\n", rc_name(rc), call.stage == STAGE_INPUT ? "input" : "run", rc == RC_OK ? "" : rc_message());
    verb_call_close(&call);
    return EXIT_SUCCESS;
}
