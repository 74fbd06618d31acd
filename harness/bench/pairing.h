/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pairing.h - which ranks play with each other, turn by turn, so that links are measured one at a time. Pure functions
 * of where the ranks are.
 *
 * Invariants
 *   Q1  A pair is of one class: both ranks on one host, or on two.
 *   Q2  In a turn a host has one pair at most: pairs of one turn share neither rank, nor host, nor network card.
 *   Q3  Over all turns every two hosts meet, and every rank of a host plays with another host; every two ranks of a
 *       host meet. Where that takes more than PAIRING_MAX_TURNS turns, as many, in which different hosts meet as far as
 *       they last.
 */
#ifndef HARNESS_BENCH_PAIRING_H
#define HARNESS_BENCH_PAIRING_H

enum { PAIRING_MAX_TURNS = 32 };

enum link_class { LINK_WITHIN, LINK_BETWEEN, LINK_N_CLASSES }; /* ranks of one host; of two */

struct pairing {     /* borrowed */
    const int *host; /* [n_ranks]: 0 <= host < n_hosts */
    int n_ranks, n_hosts;
};

/* 0: there is no pair of that class. */
int pairing_n_turns(const struct pairing *p, enum link_class of);
/* Whom `rank` plays with in this turn; -1: nobody. pairing_peer() of that one is `rank`. */
int pairing_peer(const struct pairing *p, enum link_class of, int turn, int rank);
/* How many ranks a host has, and which one of them `index` is; -1: it has not so many. */
int pairing_n_host_ranks(const struct pairing *p, int host);
int pairing_host_rank(const struct pairing *p, int host, int index);

#endif
