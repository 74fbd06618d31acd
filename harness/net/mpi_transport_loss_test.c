/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_transport_loss_test.c die|hang - the mpi transport of four processes, of which rank 2 is lost: net.T6, T10, T12.
 * Started by loss_launch_test, which counts the ranks that end well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/net/transport.h"
#include "harness/world/suite/loss_suite.h"
#include "harness/world/suite/suite_kit.h"
#include "harness/world/world.h"

extern const struct world_ops world_mpi;
extern const struct transport_ops transport_mpi;

enum { LOST = 2, N_LONG = 8 << 20, N_ROUNDS = 20, LIMIT_MS = 60000 };
#define HANG_NS UINT64_C(15000000000)
#define LONG_NS UINT64_C(120000000000) /* of a rank that ends, which is noticed without a limit */

struct job {
    bool hangs;
    int n_failures;
};

static bool names_lost(void)
{
    return strstr(rc_message(), "rank 2 was lost: ") != NULL;
}

/* What others sent to each other before, during and after the loss arrives whole. */
static int exchange_with(struct transport *t, int peer, size_t n_bytes)
{
    unsigned char *out = malloc(n_bytes), *in = calloc(1, n_bytes);
    const struct world *w = t->world;
    int n_failures = 0;

    if (!out || !in)
        abort();
    for (int i = 0; i < N_ROUNDS; i++) {
        memset(out, 16 * w->rank + i % 16, n_bytes);
        struct xfer tx = { .ptr = out, .n_bytes = n_bytes, .peer = peer, .tag = 5 };
        struct xfer rx = { .ptr = in, .n_bytes = n_bytes, .peer = peer, .tag = 5 };
        EXPECT_OF(w, transport_exchange(t, &tx, &rx, LIMIT_MS) == RC_OK);
        memset(out, 16 * peer + i % 16, n_bytes);
        EXPECT_OF(w, rx.n_bytes == n_bytes && memcmp(in, out, n_bytes) == 0);
    }
    free(out);
    free(in);
    return n_failures;
}

/* Transfers with the lost rank that are posted before it is lost: a long send and a receive, of memory that is freed
 * once they have ended. */
struct posted {
    unsigned char *out, *in;
    struct xfer tx, rx;
};

static int post(struct transport *t, struct posted *p)
{
    const struct world *w = t->world;
    int n_failures = 0;

    *p = (struct posted){ .out = calloc(1, N_LONG), .in = calloc(1, N_LONG) };
    if (!p->out || !p->in)
        abort();
    p->tx = (struct xfer){ .ptr = p->out, .n_bytes = N_LONG, .peer = LOST, .tag = 6 };
    p->rx = (struct xfer){ .ptr = p->in, .n_bytes = N_LONG, .peer = LOST, .tag = 6 };
    EXPECT_OF(w, transport_send(t, &p->tx) == RC_OK);
    EXPECT_OF(w, transport_recv(t, &p->rx) == RC_OK);
    return n_failures;
}

static int lose_posted(struct transport *t, struct posted *p)
{
    const struct world *w = t->world;
    int n_failures = 0;

    EXPECT_OF(w, transport_wait(t, &p->rx, WAIT_FOREVER) == RC_PEER && names_lost());
    EXPECT_OF(w, transport_wait(t, &p->tx, WAIT_FOREVER) == RC_PEER);
    free(p->out);
    free(p->in);
    return n_failures;
}

/* Posted after: refused at once. */
static int lose_later(struct transport *t)
{
    const struct world *w = t->world;
    uint32_t value = 1;
    struct xfer tx = { .ptr = &value, .n_bytes = sizeof value, .peer = LOST, .tag = 7 }, rx = tx;
    int n_failures = 0;

    EXPECT_OF(w, transport_send(t, &tx) == RC_PEER);
    EXPECT_OF(w, transport_recv(t, &rx) == RC_PEER);
    EXPECT_OF(w, t->dead == RC_OK);
    return n_failures;
}

/* A server that waits for anybody: of the loss it is told once, and goes on. */
static int serve(struct transport *t)
{
    struct world *w = t->world;
    struct message m;
    uint32_t value = 100 + (uint32_t)w->rank;
    struct xfer tx = { .ptr = &value, .n_bytes = sizeof value, .peer = 0, .tag = TAG_ANY | 3 };
    int n_failures = 0;

    if (w->rank == 0) {
        EXPECT_OF(w, transport_recv_message(t, &m, WAIT_FOREVER) == RC_OK && m.peer == -1 && !m.ptr);
        for (int i = 0; i < 2; i++) {
            EXPECT_OF(w, transport_recv_message(t, &m, LIMIT_MS) == RC_OK && (m.peer == 1 || m.peer == 3));
            if (m.peer < 0)
                continue;
            memcpy(&value, m.ptr, sizeof value);
            EXPECT_OF(w, m.n_bytes == sizeof value && value == 100 + (uint32_t)m.peer);
            transport_release(t, &m);
        }
        EXPECT_OF(w, transport_recv_message(t, &m, DO_NOT_WAIT) == RC_OK && m.peer == -1);
        return n_failures;
    }
    for (int i = 0; world_lost_rank(w) < 0 && i < LIMIT_MS; i++)
        world_pause(w, 1000000);
    EXPECT_OF(w, transport_send(t, &tx) == RC_OK);
    EXPECT_OF(w, transport_wait(t, &tx, LIMIT_MS) == RC_OK);
    return n_failures;
}

/* The loss ends a wait for any rank. */
static int wait_for_any(struct transport *t)
{
    const struct world *w = t->world;
    struct message m;
    int n_failures = 0;

    EXPECT_OF(w, transport_recv_message(t, &m, WAIT_FOREVER) == RC_OK && m.peer == -1 && !m.ptr);
    EXPECT_OF(w, world_lost_rank(w) == LOST);
    return n_failures;
}

/* Between ranks that live, on a transport that fails together. */
static int fail_together(struct transport *t)
{
    struct world *w = t->world;
    uint32_t value = 0;
    struct xfer rx = { .ptr = &value, .n_bytes = sizeof value, .peer = w->rank == 0 ? 1 : 0, .tag = 8 }, tx = rx;
    int n_failures = 0;

    EXPECT_OF(w, transport_recv(t, &rx) == RC_OK);
    EXPECT_OF(w, transport_wait(t, &rx, WAIT_FOREVER) == RC_PEER && names_lost());
    EXPECT_OF(w, transport_send(t, &tx) == RC_PEER && t->dead == RC_PEER);
    return n_failures;
}

static enum rc body(struct world *w, void *arg)
{
    struct job *job = arg;
    struct transport *t[3] = { NULL };
    struct world *left = NULL;
    struct posted posted;
    int n_failures = 0;
    enum rc rc;

    for (int i = 0; i < 3; i++)
        TRY(transport_open(&t[i], &transport_mpi, w));
    t[1]->fails_together = true;
    if (w->rank < 2)
        n_failures += post(t[0], &posted);
    EXPECT_OF(w, loss_await_others(w, LOST, 100));
    if (w->rank == LOST && job->hangs)
        world_hang(w);
    if (w->rank == LOST)
        world_die(w);
    if (w->rank == 3)
        n_failures += wait_for_any(t[2]) + fail_together(t[1]);
    else
        n_failures += exchange_with(t[0], 1 - w->rank, 100000) + lose_posted(t[0], &posted) + fail_together(t[1]);
    n_failures += lose_later(t[0]) + serve(t[2]);
    if (w->rank < 2) {
        n_failures += exchange_with(t[0], 1 - w->rank, 1000) + exchange_with(t[0], 1 - w->rank, N_LONG / 8);
        n_failures += exchange_with(t[2], 1 - w->rank, 1000);
    }
    TRY(world_survivors(w, &left)); /* nobody closes before all have received */
out:
    world_split_close(&left);
    for (int i = 0; i < 3; i++)
        transport_close(&t[i]);
    job->n_failures = n_failures;
    return rc;
}

int main(int argc, char **argv)
{
    struct job job = { argc == 2 && strcmp(argv[1], "hang") == 0, 0 };
    const uint64_t abort_ns = job.hangs ? HANG_NS : LONG_NS;
    const struct world_opts opts = { .stall = { .warn_ns = abort_ns / 3, .abort_ns = abort_ns },
                                     .on_loss = ON_LOSS_REPORT };
    const enum rc rc = world_run(&world_mpi, &opts, 4, body, &job);

    if (rc != RC_OK)
        fprintf(stderr, "%s: %s\n", rc_name(rc), rc_message());
    return rc != RC_OK || job.n_failures > 0;
}
