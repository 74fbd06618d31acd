/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gloo_allreduce.h - the interface of gloo.c to the library Gloo: functions of C on this side, C++ on the other. No
 * exception crosses it. Private to gloo.c and gloo_allreduce.cc.
 *
 *     listen     opens a device (a thread of the library) and, for each other rank, a socket that listens
 *     connect    connects to the sockets of all other ranks, whose addresses the caller has exchanged
 *     sum ...    one operation at a time, each ends at the time limit
 *     give_up    ends the running operation at once, and all later ones
 *
 * A function that returns false has filled *fault, and the group is unusable: close it.
 */
#ifndef ALLREDUCE_GLOO_ALLREDUCE_H
#define ALLREDUCE_GLOO_ALLREDUCE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gloo_group;

enum gloo_end {
    GLOO_TIMED_OUT,
    GLOO_BROKEN, /* a connection is broken, or the group was given up */
    GLOO_NO_MEMORY,
    GLOO_OTHER,
};

enum { GLOO_WHY_BYTES = 256, GLOO_ADDRESS_BYTES = 192 };

struct gloo_fault {
    enum gloo_end end;
    int peer; /* the rank that the library names; -1: none */
    char why[GLOO_WHY_BYTES];
};

struct gloo_setup {
    const char *address; /* IPv4, of this host; the system chooses the port */
    int rank, n_ranks;
    int connect_ms, run_ms; /* limits, at least 1 */
};

/* own: unsigned char[n_ranks][GLOO_ADDRESS_BYTES]; the addresses of this rank for each other rank. */
bool gloo_group_listen(struct gloo_group **out, const struct gloo_setup *setup, unsigned char *own,
                       struct gloo_fault *fault);
/* all: unsigned char[n_ranks][n_ranks][GLOO_ADDRESS_BYTES]; row r is the result of listen() on rank r. */
bool gloo_group_connect(struct gloo_group *g, const unsigned char *all, struct gloo_fault *fault);
/* data[n_elems], n_elems > 0. input: this rank's addends, only read; NULL: they are in data. */
bool gloo_group_sum(struct gloo_group *g, float *data, const float *input, size_t n_elems, struct gloo_fault *fault);
/* Rank r brings n_each[r] elements, which follow those of lower ranks in data. */
bool gloo_group_gather(struct gloo_group *g, float *data, const size_t *n_each, struct gloo_fault *fault);
bool gloo_group_broadcast(struct gloo_group *g, float *data, size_t n_elems, int root, struct gloo_fault *fault);
/* From any thread, but not while the group connects. Cannot fail. */
void gloo_group_give_up(struct gloo_group *g);
void gloo_group_close(struct gloo_group **g); /* NULL-safe, nulls */

#ifdef __cplusplus
}
#endif

#endif
