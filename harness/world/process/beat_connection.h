/* SPDX-License-Identifier: Apache-2.0 */
/*
 * beat_connection.h - a TCP connection that carries heartbeats, and the port where they are accepted. Private to
 * harness/world.
 *
 * Frames pass as messages of tcp_stream.h, whose key is the token of the run. So the token is never sent in clear.
 *
 * No call waits. If a connection ended, or takes no more bytes, or its peer sent an invalid frame, its owner closes it
 * and connects again.
 */
#ifndef HARNESS_WORLD_PROCESS_BEAT_CONNECTION_H
#define HARNESS_WORLD_PROCESS_BEAT_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/host_address.h"
#include "harness/world/process/beat_frame.h"
#include "harness/world/tcp/tcp_stream.h"

struct beat_address {
    char host[HOST_ADDRESS_BYTES];
    uint16_t port;
};

struct beat_connection {
    int fd; /* -1: none */
    bool is_connecting;
    bool is_client;            /* it was started here, not accepted */
    struct tcp_stream *stream; /* which then owns fd; NULL: not yet */
    uint64_t heard_ns;         /* when the last frame came, or the connection was started */
};

/* Listens at address->host, on any port, and sets the port. RC_IO. */
enum rc beat_listen(int *fd, struct beat_address *address) MUST_CHECK;

/* Sets an accepted connection. */
void beat_connection_set(struct beat_connection *c, int fd, uint64_t now_ns);
/* Starts to connect; c has no connection. false: not possible; errno says why. */
bool beat_connection_begin(struct beat_connection *c, const struct beat_address *to, uint64_t now_ns);
/* Has beat_connection_begin() finished? Returns an errno, 0: connected; -1: not yet. */
int beat_connection_begun(struct beat_connection *c);
void beat_connection_close(struct beat_connection *c);

typedef void beat_taken_fn(void *arg, const struct beat_frame *f);
/* Reads what has come, and calls taken for each frame. false: close it. */
bool beat_connection_receive(struct beat_connection *c, const struct beat_run *run, bool from_hub, uint64_t now_ns,
                             beat_taken_fn *taken, void *arg);
/* Can frames be sent on a connected one yet? Closes one that never will send. */
bool beat_connection_is_ready(struct beat_connection *c, const struct beat_run *run);
/* Sends all bytes or none; it must be ready. false: close it. */
bool beat_connection_send(struct beat_connection *c, const unsigned char *bytes, size_t n_bytes);

#endif
