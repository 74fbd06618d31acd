/* SPDX-License-Identifier: Apache-2.0 */
/* run_gang.c [--goes-on] N PROGRAM ARGUMENT... - PROGRAM as N processes of world tcp, on this host. Test-only; users
 * have gradmark launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/world/tcp/launch.h"

int main(int argc, char **argv)
{
    const bool goes_on = argc > 1 && strcmp(argv[1], "--goes-on") == 0;
    const int first = goes_on ? 2 : 1;
    int exit_code = EXIT_FAILURE;

    if (argc < first + 2)
        return 2;
    const struct launch_opts opts = { .n_ranks = strtoul(argv[first], NULL, 10),
                                      .hosts = "",
                                      .agent = "",
                                      .interface = "",
                                      .join_file = "",
                                      .start_s = 30,
                                      .goes_on = goes_on,
                                      .argv = argv + first + 1 };
    if (launch_run(&opts, &exit_code) != RC_OK)
        fprintf(stderr, "run_gang: %s\n", rc_message());
    return exit_code;
}
