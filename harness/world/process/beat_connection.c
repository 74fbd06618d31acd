/* SPDX-License-Identifier: Apache-2.0 */
/* beat_connection.c - sockets that never block; the contract is in beat_connection.h. */
#include "harness/world/process/beat_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/world/process/tcp_socket.h"

static bool address_of(struct sockaddr_in *out, const struct beat_address *a)
{
    *out = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(a->port) };
    return inet_pton(AF_INET, a->host, &out->sin_addr) == 1;
}

enum rc beat_listen(int *fd, struct beat_address *address)
{
    struct sockaddr_in at;

    *fd = -1;
    address->port = 0;
    if (!address_of(&at, address))
        return rc_raise(RC_IO, "%s is no address", address->host);
    *fd = tcp_socket_listen(&at);
    if (*fd < 0)
        return rc_raise(RC_IO, "a port at %s: %s", address->host, strerror(errno));
    address->port = ntohs(at.sin_port);
    return RC_OK;
}

void beat_connection_set(struct beat_connection *c, int fd, uint64_t now_ns)
{
    const int n_buffer_bytes = 1 << 18; /* a frame is sent only when the last one has left */

    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n_buffer_bytes, sizeof n_buffer_bytes);
    *c = (struct beat_connection){ .fd = fd, .heard_ns = now_ns };
}

bool beat_connection_begin(struct beat_connection *c, const struct beat_address *to, uint64_t now_ns)
{
    struct sockaddr_in at;

    errno = EINVAL;
    if (!address_of(&at, to))
        return false;
    const int fd = tcp_socket_begin(&at);
    if (fd < 0)
        return false;
    beat_connection_set(c, fd, now_ns);
    c->is_connecting = c->is_client = true;
    return true;
}

int beat_connection_begun(struct beat_connection *c)
{
    const int why = c->is_connecting ? tcp_socket_begun(c->fd, 0) : 0;

    c->is_connecting = why != 0;
    return why;
}

void beat_connection_close(struct beat_connection *c)
{
    if (c->stream)
        tcp_stream_close(&c->stream);
    else if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
    c->is_connecting = false;
}

/* Send and receive what is possible now. false: to be closed. */
static bool tend(struct beat_connection *c, const struct beat_run *run)
{
    unsigned char key[STREAM_KEY_BYTES] = { 0 };

    if (!c->stream) {
        memcpy(key, run->token, BEAT_TOKEN_BYTES);
        if (tcp_stream_open(&c->stream, c->fd, c->is_client, key) != RC_OK) {
            c->fd = -1; /* it is closed */
            return false;
        }
        tcp_stream_limit(c->stream, beat_frame_bytes(run->n_ranks));
    }
    return tcp_stream_tend(c->stream) == RC_OK;
}

bool beat_connection_receive(struct beat_connection *c, const struct beat_run *run, bool from_hub, uint64_t now_ns,
                             beat_taken_fn *taken, void *arg)
{
    struct tcp_message m;
    struct beat_frame f;
    bool is_well = tend(c, run);

    while (is_well && tcp_stream_take(c->stream, &m)) {
        is_well = beat_read(&f, run, from_hub, m.body, m.n_bytes) == RC_OK;
        if (is_well) {
            c->heard_ns = now_ns;
            taken(arg, &f);
        }
        free(m.body);
    }
    return is_well;
}

bool beat_connection_is_ready(struct beat_connection *c, const struct beat_run *run)
{
    if (!tend(c, run)) {
        beat_connection_close(c);
        return false;
    }
    return tcp_stream_is_open(c->stream);
}

bool beat_connection_send(struct beat_connection *c, const unsigned char *bytes, size_t n_bytes)
{
    const struct tcp_message m = { .body = (unsigned char *)bytes, .n_bytes = n_bytes }; /* which is only read */

    return !tcp_stream_has_to_send(c->stream) && tcp_stream_post(c->stream, &m) == RC_OK &&
           tcp_stream_tend(c->stream) == RC_OK;
}
