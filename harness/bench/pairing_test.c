/* SPDX-License-Identifier: Apache-2.0 */
/* pairing_test.c - who plays with whom, on clusters of all small shapes and on large ones. */
#include "harness/base/suite/unit.h"
#include "harness/bench/pairing.h"

#include <string.h>

enum { MAX_RANKS = 256, MAX_HOSTS = 64, MAX_SEEN = 64 };

struct seen { /* of one shape and class */
    int n_pairs;
    char met[MAX_SEEN][MAX_SEEN]; /* ranks */
    char hosts_met[MAX_HOSTS][MAX_HOSTS], has_played[MAX_RANKS];
};

static void look(struct seen *seen, const struct pairing *p, enum link_class of)
{
    memset(seen, 0, sizeof *seen);
    for (int turn = 0; turn < pairing_n_turns(p, of); turn++) {
        int n_of_host[MAX_HOSTS] = { 0 };
        for (int r = 0; r < p->n_ranks; r++) {
            const int other = pairing_peer(p, of, turn, r);
            if (other < 0)
                continue;
            assert_true(other < p->n_ranks && other != r);
            assert_int_equal(pairing_peer(p, of, turn, other), r);
            assert_true((p->host[r] == p->host[other]) == (of == LINK_WITHIN));  /* bench.Q1 */
            assert_true(++n_of_host[p->host[r]] <= (of == LINK_WITHIN ? 2 : 1)); /* bench.Q2 */
            seen->n_pairs += r < other;
            seen->hosts_met[p->host[r]][p->host[other]] = seen->has_played[r] = 1;
            if (r < MAX_SEEN && other < MAX_SEEN)
                seen->met[r][other] = 1;
        }
    }
}

/* n_hosts hosts in turn, the last of which has one rank where is_uneven. */
static struct pairing shape(int host[MAX_RANKS], int n_hosts, int n_each, int is_uneven)
{
    struct pairing p = { host, 0, n_hosts };

    for (int i = 0; i < n_each; i++)
        for (int h = 0; h < n_hosts; h++)
            if (i == 0 || !is_uneven || h < n_hosts - 1)
                host[p.n_ranks++] = h;
    return p;
}

UNIT_TEST(everybody_meets_Q3)
{
    static struct seen seen;
    int host[MAX_RANKS];

    for (int n_hosts = 1; n_hosts <= 7; n_hosts++)
        for (int n_each = 1; n_each <= 4; n_each++)
            for (int is_uneven = 0; is_uneven < 2; is_uneven++) {
                const struct pairing p = shape(host, n_hosts, n_each, is_uneven);
                look(&seen, &p, LINK_WITHIN);
                for (int a = 0; a < p.n_ranks; a++)
                    for (int b = 0; b < p.n_ranks; b++)
                        assert_true(seen.met[a][b] == (a != b && host[a] == host[b]));
                look(&seen, &p, LINK_BETWEEN);
                for (int a = 0; a < n_hosts; a++)
                    for (int b = 0; b < n_hosts; b++)
                        assert_true(seen.hosts_met[a][b] == (a != b));
                for (int r = 0; r < p.n_ranks; r++)
                    assert_true(seen.has_played[r] == (n_hosts > 1));
            }
}

UNIT_TEST(turns_are_counted)
{
    static struct seen seen;
    int host[MAX_RANKS];

    struct pairing p = shape(host, 8, 1, 0);
    assert_int_equal(pairing_n_turns(&p, LINK_WITHIN), 0);
    assert_int_equal(pairing_n_turns(&p, LINK_BETWEEN), 7);
    look(&seen, &p, LINK_BETWEEN);
    assert_int_equal(seen.n_pairs, 28);
    p = shape(host, 1, 4, 0);
    assert_int_equal(pairing_n_turns(&p, LINK_WITHIN), 6);
    assert_int_equal(pairing_n_turns(&p, LINK_BETWEEN), 0);
    p = shape(host, 1, 1, 0);
    assert_int_equal(pairing_n_turns(&p, LINK_WITHIN), 0);
    assert_int_equal(pairing_n_turns(&p, LINK_BETWEEN), 0);
}

/* 64 hosts of 4: every host plays in each of the turns that are left. */
UNIT_TEST(many_ranks_take_some_turns)
{
    static struct seen seen;
    int host[MAX_RANKS];
    const struct pairing p = shape(host, MAX_HOSTS, 4, 0);

    assert_int_equal(pairing_n_turns(&p, LINK_BETWEEN), PAIRING_MAX_TURNS);
    look(&seen, &p, LINK_BETWEEN);
    assert_int_equal(seen.n_pairs, PAIRING_MAX_TURNS * MAX_HOSTS / 2);
    for (int r = 0; r < p.n_ranks; r++)
        assert_true(seen.has_played[r]);
    look(&seen, &p, LINK_WITHIN);
    assert_int_equal(seen.n_pairs, 6 * MAX_HOSTS);
}

/* Pairs of hosts that meet, where not all turns are taken. */
static int hosts_that_meet(int n_hosts, int n_each)
{
    static struct seen seen;
    static int host[MAX_RANKS];
    const struct pairing p = shape(host, n_hosts, n_each, 0);
    int n = 0;

    look(&seen, &p, LINK_BETWEEN);
    for (int a = 0; a < n_hosts; a++)
        for (int b = 0; b < a; b++)
            n += seen.hosts_met[a][b];
    return n;
}

UNIT_TEST(few_turns_meet_different_hosts)
{
    assert_int_equal(hosts_that_meet(4, 32), 6);
    assert_int_equal(hosts_that_meet(8, 16), 28);
    assert_int_equal(hosts_that_meet(16, 16), 120);
    assert_int_equal(hosts_that_meet(64, 4), PAIRING_MAX_TURNS * 32);
}

UNIT_MAIN("pairing")
