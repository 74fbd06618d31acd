/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairing.h - which ranks form pairs in each turn, so that links are measured one at a time. Pure functions of the
 * ranks' hosts.
 *
 * Invariants
 *   Q1  A pair has one class: both ranks on one host, or on two.
 *   Q2  In a turn a host has at most one pair: pairs of one turn share neither rank, nor host, nor network card.
 *   Q3  Over all turns every two hosts meet, and every rank of a host plays with another host; every two ranks of a
 *       host meet. If that takes more than PAIRING_MAX_TURNS turns, there are only that many, with as many different
 *       hosts meeting as possible.
 */
#ifndef HARNESS_BENCH_PAIRING_H
#define HARNESS_BENCH_PAIRING_H

enum { PAIRING_MAX_TURNS = 32 };

enum link_class { LINK_WITHIN, LINK_BETWEEN, LINK_N_CLASSES }; /* ranks of one host; of two */

struct pairing {     /* borrowed */
    const int *host; /* [n_ranks]: 0 <= host < n_hosts */
    int n_ranks, n_hosts;
};

/* 0: no pair of that class. */
int pairing_n_turns(const struct pairing *p, enum link_class of);
/* The partner of `rank` in this turn; -1: none. The partner's pairing_peer() is `rank`. */
int pairing_peer(const struct pairing *p, enum link_class of, int turn, int rank);
/* Number of ranks on a host, and the rank with this index there; -1: index too high. */
int pairing_n_host_ranks(const struct pairing *p, int host);
int pairing_host_rank(const struct pairing *p, int host, int index);

#endif
