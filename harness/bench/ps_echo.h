/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps_echo.h - the bound for a parameter server: messages of the same lengths, and as many in transit, are returned
 * unchanged; the servers' work is omitted.
 *
 *   bound      used for                             a message
 *   zeromq     transports over sockets of ZeroMQ    is sent by bare ZeroMQ without a copy (net/zmq_echo.h)
 *   memory     inproc, and zmq between threads      is copied once each way: the server copies it from the worker's
 *                                                   block into its own, the worker copies it back
 *   two-copy   shm                                  is copied twice each way: the sender copies it into its block,
 *                                                   which all ranks map, the receiver copies it out
 *   transport  mpi, sim                             is a plain message of the transport
 *
 * Invariants
 *   X1  A call moves the same as one call of a push and pull: each chunk goes to all servers and back. Each server
 *       receives its part with a header.
 *   X2  Blocks rotate like those of the parameters. With two-copy, copies go from and to these blocks; a shared block
 *       has space for as many messages as may be in transit.
 *   -   A server echoes in a separate task, next to the server of ps/; it sleeps while no message arrives.
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

struct ps_echo_env { /* equal on all ranks, borrowed during open */
    struct world *world;
    const struct transport_ops *transport;
    int n_workers, n_servers; /* ranks: workers first */
    size_t n_frames;          /* chunks per call */
    size_t n_part_bytes;      /* size of a chunk's part at each server, without its header */
    size_t n_blocks;          /* bench.X2 */
    int n_in_flight;          /* chunks */
    int timeout_ms;
    bool is_hollow;
};

enum ps_echo_kind ps_echo_kind_of(const struct transport_ops *transport, const struct world *w);
const char *ps_echo_kind_text(enum ps_echo_kind kind);
/* Collective. Errors: RC_NOMEM; those of its transport. A server's task starts to serve. */
enum rc ps_echo_open(struct ps_echo **out, const struct ps_echo_env *env) MUST_CHECK;
/* A worker: bench.X1. */
enum rc ps_echo_call(struct ps_echo *e) MUST_CHECK;
/* Worker: no further calls. Server: wait until all workers have ended. */
enum rc ps_echo_end(struct ps_echo *e) MUST_CHECK;
void ps_echo_close(struct ps_echo **e); /* NULL-safe, nulls; also without an end, after an error */

#endif
