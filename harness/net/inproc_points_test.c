/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inproc_points_test.c - messages between threads with one thread held at each of its points in turn: no ring is lost
 * between a sender and a receiver (test_points.h).
 */
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/net/transport.h"
#include "harness/world/suite/test_points.h"
#include "harness/world/world.h"

extern const struct world_ops world_threads;
extern const struct transport_ops transport_inproc;

enum { N_RANKS = 2, N_ROUNDS = 3, N_POINTS = 160 };

/* Both send and receive at once, N_ROUNDS times. */
static enum rc exchange(struct transport *t, int *n_wrong)
{
    const int rank = t->world->rank, peer = 1 - rank;
    enum rc rc = RC_OK;

    for (int i = 0; i < N_ROUNDS; i++) {
        int out = 100 * i + rank, in = -1;
        struct xfer tx = { .ptr = &out, .n_bytes = sizeof out, .peer = peer, .tag = 1 };
        struct xfer rx = { .ptr = &in, .n_bytes = sizeof in, .peer = peer, .tag = 1 };
        TRY(transport_exchange(t, &tx, &rx, WAIT_FOREVER));
        *n_wrong += in != 100 * i + peer;
    }
out:
    return rc;
}

/* Rank 1 asks, rank 0 answers whoever asked: what a parameter server does. */
static enum rc serve(struct transport *t, int *n_wrong)
{
    int value = 5;
    struct xfer x = { .ptr = &value, .n_bytes = sizeof value, .peer = 1 - t->world->rank, .tag = TAG_ANY | 1 };
    struct message m;
    enum rc rc;

    if (t->world->rank == 0) {
        TRY(transport_recv_message(t, &m, WAIT_FOREVER));
        value = *(const int *)m.ptr + 1;
        transport_release(t, &m);
        x.tag = 2;
    }
    TRY(transport_send(t, &x));
    TRY(transport_wait(t, &x, WAIT_FOREVER));
    if (t->world->rank == 1) {
        x = (struct xfer){ .ptr = &value, .n_bytes = sizeof value, .peer = 0, .tag = 2 };
        TRY(transport_recv(t, &x));
        TRY(transport_wait(t, &x, WAIT_FOREVER));
        *n_wrong += value != 6;
    }
out:
    return rc;
}

static enum rc body(struct world *w, void *arg)
{
    int *n_wrong = (int *)arg + w->rank;
    struct transport *t = NULL;
    enum rc rc;

    TRY(transport_open(&t, &transport_inproc, w));
    TRY(exchange(t, n_wrong));
    TRY(serve(t, n_wrong));
out:
    transport_close(&t);
    return rc;
}

static int scenario(void *arg)
{
    const struct world_opts opts = { .bind_cores = false };
    int n_wrong[N_RANKS] = { 0 };

    (void)arg;
    return (world_run(&world_threads, &opts, N_RANKS, body, n_wrong) != RC_OK) + n_wrong[0] + n_wrong[1];
}

UNIT_TEST(no_ring_is_lost)
{
    assert_int_equal(test_points_try(1 + N_RANKS, N_POINTS, scenario, NULL), 0);
}

UNIT_MAIN("inproc_points")
