/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_fairness_test.c SEED N - when messages arrive, against SimGrid's own flows: on N clusters and sets of messages,
 * drawn at random, within 2 %. One engine of SimGrid a process, so each runs in one of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/world/suite/simgrid_flows.h"

enum { N_FLOWS = 40 };

#define MOST_ERROR 0.02

struct range {
    uint64_t first, n;
};

static double expected_s[KIT_FLOWS], arrived_s[KIT_FLOWS];

/* SimGrid's times, from a child. */
static void simgrid_times(const struct kit_flows *k)
{
    const size_t n_bytes = (size_t)k->n * sizeof *expected_s;
    int ends[2], status = 0;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const bool ok = simgrid_flows_play(k, expected_s) == RC_OK;
        _exit(ok && write(ends[1], expected_s, n_bytes) == (ssize_t)n_bytes ? 0 : 1);
    }
    close(ends[1]);
    assert_true(read(ends[0], expected_s, n_bytes) == (ssize_t)n_bytes);
    close(ends[0]);
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void messages_arrive_as_simgrids_do_F1(void **state)
{
    const struct range *range = *state;
    static struct kit_flows k;
    double most = 0;

    for (uint64_t seed = range->first; seed < range->first + range->n; seed++) {
        kit_flows_draw(&k, seed, N_FLOWS);
        simgrid_times(&k);
        assert_int_equal(kit_flows_play(&k, arrived_s), 0);
        const double error = kit_flows_error(&k, arrived_s, expected_s);
        most = error > most ? error : most;
        if (error > MOST_ERROR)
            fail_msg("seed %d: %d messages, one %.3f of its time off", (int)seed, k.n, error);
    }
    fprintf(stderr, "the worst of %d cases is %.2g of its time off\n", (int)range->n, most);
}

int main(int argc, char **argv)
{
    struct range range = { 0, 0 };

    if (argc == 3)
        range = (struct range){ strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10) };
    if (range.n == 0) {
        fprintf(stderr, "usage: sim_fairness_test SEED N\n");
        return 2;
    }
    const struct CMUnitTest tests[] = { cmocka_unit_test_prestate(messages_arrive_as_simgrids_do_F1, &range) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
