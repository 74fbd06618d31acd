/* SPDX-License-Identifier: Apache-2.0 */
/* pairing.c - which ranks form pairs in each turn, so that links are measured one at a time; see pairing.h. */
#include "harness/bench/pairing.h"

#include "harness/bench/circle.h"

int pairing_n_host_ranks(const struct pairing *p, int host)
{
    int n = 0;

    for (int r = 0; r < p->n_ranks; r++)
        n += p->host[r] == host;
    return n;
}

int pairing_host_rank(const struct pairing *p, int host, int index)
{
    for (int r = 0; r < p->n_ranks; r++)
        if (p->host[r] == host && index-- == 0)
            return r;
    return -1;
}

static int most_host_ranks(const struct pairing *p)
{
    int most = 0;

    for (int h = 0; h < p->n_hosts; h++) {
        const int n = pairing_n_host_ranks(p, h);
        most = n > most ? n : most;
    }
    return most;
}

static int pairs_count(int n)
{
    return n * (n - 1) / 2;
}

/* How many turns it takes until all have met (bench.Q3). */
static long all_turns(const struct pairing *p, enum link_class of)
{
    if (of == LINK_WITHIN)
        return pairs_count(most_host_ranks(p));
    return p->n_hosts > 1 ? (long)circle_n_rounds(p->n_hosts) * most_host_ranks(p) : 0;
}

int pairing_n_turns(const struct pairing *p, enum link_class of)
{
    const long n = all_turns(p, of);

    return n < PAIRING_MAX_TURNS ? (int)n : PAIRING_MAX_TURNS;
}

static int peer_between(const struct pairing *p, long turn, int rank)
{
    const int c = (int)(turn % circle_n_rounds(p->n_hosts)), round = (int)(turn / circle_n_rounds(p->n_hosts));
    const int here = p->host[rank], there = circle_opponent(p->n_hosts, c, here);

    if (there < 0 || pairing_host_rank(p, here, round % pairing_n_host_ranks(p, here)) != rank)
        return -1;
    return pairing_host_rank(p, there, round % pairing_n_host_ranks(p, there));
}

/* Pair number `turn` of the ranks of a host, in the order 01 02 12 03 13 23 ... */
static int peer_within(const struct pairing *p, long turn, int rank)
{
    int second = 1;

    if (turn >= pairs_count(pairing_n_host_ranks(p, p->host[rank])))
        return -1;
    while (turn >= pairs_count(second + 1))
        second++;
    const int a = pairing_host_rank(p, p->host[rank], (int)turn - pairs_count(second));
    const int b = pairing_host_rank(p, p->host[rank], second);
    return rank == a ? b : rank == b ? a : -1;
}

/* Of all turns between hosts the one that is taken as number `turn` of n: rounds of the circle and ranks of hosts each
 * go on by themselves, or else a number of ranks that n divides would take one round alone. */
static long turn_between(const struct pairing *p, long turn, long n)
{
    const long n_rounds = circle_n_rounds(p->n_hosts), c = n_rounds < n ? turn % n_rounds : turn * n_rounds / n;

    return c + n_rounds * (turn * most_host_ranks(p) / n);
}

int pairing_peer(const struct pairing *p, enum link_class of, int turn, int rank)
{
    const long n = pairing_n_turns(p, of), n_all = all_turns(p, of);

    if (of == LINK_WITHIN)
        return peer_within(p, turn * n_all / n, rank);
    return peer_between(p, n < n_all ? turn_between(p, turn, n) : turn, rank);
}
