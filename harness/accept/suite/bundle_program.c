/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bundle_program.c FAULTS DIR [N_NODES] - write the bundle of acceptance_kit.h's test with so many faults into DIR, or
 * of a fleet of N_NODES with a slow node and a slow link: for tests that read files with other programs, and to look
 * at.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/suite/acceptance_kit.h"
#include "harness/base/rng.h"
#include "harness/report/record.h"

/* Noise of 2 %, the last node at 60 %, a link at 70 %. */
static void add_faults(struct acceptance *a)
{
    const int n = a->n_nodes;
    uint64_t draw = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const double noise = 1 + 0.02 * ((double)(rng_u64(1, RNG_TEST, draw++) % 1000) / 1000 - 0.5);
            *tournament_rate(&a->tournament, 0, i, j) *= noise * (i == n - 1 || j == n - 1 ? 0.6 : 1);
            *tournament_latency(&a->tournament, 0, i, j) *= noise;
        }
    if (n > 2)
        *tournament_rate(&a->tournament, 0, 0, n / 2) *= 0.7;
    const struct finding node = { ACCEPT_PAIRWISE, SUBJECT_NODE, n - 1, -1,   false, "bytes_per_s",
                                  "byte/s",        60e6,         100e6, 1e-9, "" };
    const struct finding link = { ACCEPT_PAIRWISE, SUBJECT_LINK, 0,     n / 2, false, "bytes_per_s",
                                  "byte/s",        70e6,         100e6, 1e-4,  "" };
    if (acceptance_add_finding(a, &node) != RC_OK || (n > 2 && acceptance_add_finding(a, &link) != RC_OK))
        abort();
    a->outcome = OUTCOME_FAIL;
    a->stage[ACCEPT_PAIRWISE].outcome = OUTCOME_FAIL;
}

int main(int argc, char **argv)
{
    const struct criteria criteria = { .name = "four" };
    struct acceptance a;
    struct record *manifest = NULL;
    enum rc rc;

    if (argc < 3)
        return 2;
    if (argc > 3) {
        kit_fleet(&a, atoi(argv[3]));
        add_faults(&a);
    } else {
        kit_acceptance(&a, atoi(argv[1]));
    }
    manifest = record_open("manifest");
    rc = acceptance_write(&a, &criteria, manifest, argv[2]);
    if (rc != RC_OK)
        fprintf(stderr, "bundle_program: %s\n", rc_message());
    record_close(&manifest);
    acceptance_close(&a);
    return rc != RC_OK;
}
