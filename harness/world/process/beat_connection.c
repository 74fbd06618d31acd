/* SPDX-License-Identifier: Apache-2.0 */
/* beat_connection.c - sockets that never block; the contract is in beat_connection.h. */
#include "harness/world/process/beat_connection.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { N_WAITING = 128 }; /* connections that the kernel keeps until they are accepted */

static bool address_of(struct sockaddr_in *out, const struct beat_address *a)
{
    *out = (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(a->port) };
    return inet_pton(AF_INET, a->host, &out->sin_addr) == 1;
}

enum rc beat_listen(int *fd, struct beat_address *address)
{
    struct sockaddr_in at;
    socklen_t n_bytes = sizeof at;
    enum rc rc = RC_OK;

    *fd = -1;
    address->port = 0;
    if (!address_of(&at, address))
        return rc_raise(RC_IO, "%s is no address", address->host);
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof at) != 0 || listen(s, N_WAITING) != 0 ||
        getsockname(s, (struct sockaddr *)&at, &n_bytes) != 0)
        FAIL(RC_IO, "a port at %s: %s", address->host, strerror(errno));
    address->port = ntohs(at.sin_port);
    *fd = s;
    return RC_OK;
out:
    if (s >= 0)
        (void)close(s);
    return rc;
}

int beat_accept(int listening_fd)
{
    return accept4(listening_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

enum rc beat_connection_init(struct beat_connection *c, int n_seats)
{
    *c = (struct beat_connection){ .fd = -1, .capacity_bytes = beat_frame_bytes(n_seats) };
    c->in = malloc(c->capacity_bytes);
    return c->in ? RC_OK : rc_raise(RC_NOMEM, "no memory for the heartbeat of %d ranks", n_seats);
}

void beat_connection_fini(struct beat_connection *c)
{
    if (!c->in)
        return;
    beat_connection_close(c);
    free(c->in);
    c->in = NULL;
}

void beat_connection_set(struct beat_connection *c, int fd, uint64_t now_ns)
{
    const int on = 1, n_buffer_bytes = 1 << 18; /* frames leave as a whole: beat_connection_send() */

    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n_buffer_bytes, sizeof n_buffer_bytes);
    c->fd = fd;
    c->is_connecting = c->is_client = false;
    c->n_in = 0;
    c->heard_ns = now_ns;
}

bool beat_connection_begin(struct beat_connection *c, const struct beat_address *to, uint64_t now_ns)
{
    struct sockaddr_in at;

    errno = EINVAL;
    if (!address_of(&at, to))
        return false;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0 && errno != EINPROGRESS) {
        const int why = errno;
        (void)close(fd);
        errno = why;
        return false;
    }
    beat_connection_set(c, fd, now_ns);
    c->is_connecting = c->is_client = true;
    return true;
}

int beat_connection_begun(struct beat_connection *c)
{
    struct pollfd p = { .fd = c->fd, .events = POLLOUT };
    int why = 0;
    socklen_t n_bytes = sizeof why;

    if (!c->is_connecting)
        return 0;
    if (poll(&p, 1, 0) <= 0)
        return -1;
    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &why, &n_bytes) != 0)
        why = errno;
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
    c->n_in = 0;
}

/* Take the whole frames in c->in. false: there is no frame. */
static bool take_frames(struct beat_connection *c, const struct beat_run *run, bool from_hub, uint64_t now_ns,
                        beat_taken_fn *taken, void *arg)
{
    size_t offset_bytes = 0;
    struct beat_frame f;

    for (;;) {
        if (beat_read(&f, run, from_hub, c->in + offset_bytes, c->n_in - offset_bytes) != RC_OK)
            return false;
        if (f.n_bytes == 0)
            break;
        c->heard_ns = now_ns;
        taken(arg, &f);
        offset_bytes += f.n_bytes;
    }
    c->n_in -= offset_bytes;
    memmove(c->in, c->in + offset_bytes, c->n_in);
    return c->n_in < c->capacity_bytes; /* a frame of so many bytes is none of this cell's */
}

/* --- sealed --- */

/* Send and receive what is possible now. false: to be closed. */
static bool tend_stream(struct beat_connection *c, const struct beat_run *run)
{
    unsigned char key[STREAM_KEY_BYTES] = { 0 };

    if (!c->stream) {
        memcpy(key, run->token, BEAT_TOKEN_BYTES);
        if (tcp_stream_open(&c->stream, c->fd, c->is_client, key) != RC_OK) {
            c->fd = -1; /* it is closed */
            return false;
        }
        tcp_stream_limit(c->stream, c->capacity_bytes);
    }
    return tcp_stream_tend(c->stream) == RC_OK;
}

static bool receive_sealed(struct beat_connection *c, const struct beat_run *run, bool from_hub, uint64_t now_ns,
                           beat_taken_fn *taken, void *arg)
{
    struct tcp_message m;
    struct beat_frame f;
    bool is_well = tend_stream(c, run);

    while (is_well && tcp_stream_take(c->stream, &m)) {
        is_well = beat_read(&f, run, from_hub, m.body, m.n_bytes) == RC_OK && f.n_bytes == m.n_bytes;
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
    if (!run->is_sealed)
        return true;
    if (!tend_stream(c, run)) {
        beat_connection_close(c);
        return false;
    }
    return tcp_stream_is_open(c->stream);
}

/* --- either way --- */

bool beat_connection_receive(struct beat_connection *c, const struct beat_run *run, bool from_hub, uint64_t now_ns,
                             beat_taken_fn *taken, void *arg)
{
    if (run->is_sealed)
        return receive_sealed(c, run, from_hub, now_ns, taken, arg);
    enum { MAX_READS = 64 }; /* a stranger may send without end */

    for (int i = 0; i < MAX_READS; i++) {
        const ssize_t n = recv(c->fd, c->in + c->n_in, c->capacity_bytes - c->n_in, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN || errno == EWOULDBLOCK;
        if (n == 0)
            return false;
        c->n_in += (size_t)n;
        if (!take_frames(c, run, from_hub, now_ns, taken, arg))
            return false;
    }
    return true;
}

bool beat_connection_send(struct beat_connection *c, const unsigned char *bytes, size_t n_bytes)
{
    const struct tcp_message m = { .body = (unsigned char *)bytes, .n_bytes = n_bytes }; /* which is only read */

    if (!c->stream)
        return send(c->fd, bytes, n_bytes, MSG_NOSIGNAL) == (ssize_t)n_bytes;
    return !tcp_stream_has_to_send(c->stream) && tcp_stream_post(c->stream, &m) == RC_OK &&
           tcp_stream_tend(c->stream) == RC_OK;
}
