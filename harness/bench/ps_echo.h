/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_echo.h - the bound beside a parameter server: messages of the same lengths, as many on the way, that come back as
 * they were, and what servers do with them is left out.
 *
 *   bound      where                                a message
 *   zeromq     transports over sockets of ZeroMQ    is sent by bare ZeroMQ without a copy (net/zmq_echo.h)
 *   memory     inproc, and zmq between threads      is copied once each way: by the server from the worker's block
 *                                                   into its own, by the worker back out of that
 *   two-copy   shm                                  is copied twice each way: by its sender into its block, which
 *                                                   all map, by its receiver out of that
 *   transport  mpi, sim                             is one of the transport, as it is
 *
 * Invariants
 *   X1  A call moves what one call of a push and pull does: each piece to all servers, of which each gets its part with
 *       a header, and back.
 *   X2  Blocks rotate as those of the parameters do; of two-copy, those are what is copied from and to, and a shared
 *       block has as many messages as there may be on the way.
 *   X3  A server echoes in a task of its own, which sleeps while nothing comes, beside the server of ps/.
 */
#ifndef HARNESS_BENCH_PS_ECHO_H
#define HARNESS_BENCH_PS_ECHO_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/base/rc.h"

struct ps_echo;
struct transport_ops;
struct world;

enum ps_echo_kind { PS_ECHO_ZEROMQ, PS_ECHO_MEMORY, PS_ECHO_TWO_COPY, PS_ECHO_TRANSPORT };

struct ps_echo_env { /* the same on all ranks, borrowed during open */
    struct world *world;
    const struct transport_ops *transport;
    int n_workers, n_servers; /* ranks: workers first */
    size_t n_frames;          /* pieces of a call */
    size_t n_part_bytes;      /* of a piece at each server, without its header */
    size_t n_blocks;          /* X2 */
    int n_in_flight;          /* pieces */
    int timeout_ms;
    bool is_hollow;
};

enum ps_echo_kind ps_echo_kind_of(const struct transport_ops *transport, const struct world *w);
const char *ps_echo_kind_text(enum ps_echo_kind kind);
/* Collective. RC_NOMEM; those of what it goes over. A server's task begins to serve. */
enum rc ps_echo_open(struct ps_echo **out, const struct ps_echo_env *env) MUST_CHECK;
/* A worker: X1. */
enum rc ps_echo_call(struct ps_echo *e) MUST_CHECK;
/* A worker: it calls no more. A server: wait until all workers have ended. */
enum rc ps_echo_end(struct ps_echo *e) MUST_CHECK;
void ps_echo_close(struct ps_echo **e); /* NULL-safe, nulls; also without an end, after an error */

#endif
