/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_connect.c - see tcp_connect.h. Rank 0 may come later than others: they try again until the limit. */
#include "harness/world/tcp/tcp_connect.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/hold.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/tcp/tcp_protocol.h"
#include "harness/world/wait.h"

enum { RETRY_MS = 50, ATTEMPT_MS = 3000 };

#define HUB_ENDED "rank 0 at %s has ended the connection before it answered: it has failed"

static uint64_t ms_until(uint64_t limit_ns)
{
    const uint64_t now_ns = wait_clock_ns();

    return now_ns >= limit_ns ? 0 : (limit_ns - now_ns) / 1000000 + 1;
}

/* Wait until the socket can be read or, where wanted, written. */
static void wait_for(int fd, bool writes, uint64_t most_ms)
{
    struct pollfd p = { .fd = fd, .events = (short)(writes ? POLLIN | POLLOUT : POLLIN) };

    (void)poll(&p, 1, most_ms > 1000 ? 1000 : (int)most_ms);
}

/* A socket that is connected to one of the addresses; -1: errno says why not. */
static int connect_to(const struct addrinfo *to, uint64_t limit_ns)
{
    const int fd = tcp_socket_begin((const struct sockaddr_in *)(const void *)to->ai_addr);

    if (fd < 0)
        return -1;
    const uint64_t left_ms = ms_until(limit_ns);
    const int why = tcp_socket_begun(fd, left_ms < ATTEMPT_MS ? (int)left_ms : ATTEMPT_MS);
    if (why == 0)
        return fd;
    (void)close(fd);
    errno = why > 0 ? why : ETIMEDOUT;
    return -1;
}

/* Connect with rank 0, which may not listen yet, by a name that may not be known yet. is_again: it has listened. */
static enum rc reach_hub(int *fd, const struct gang *gang, uint64_t limit_ns, bool is_again)
{
    const struct timespec pause = { .tv_nsec = RETRY_MS * 1000000 };
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    char host[GANG_ADDRESS_BYTES], service[8], name[GANG_ADDRESS_BYTES + 32], text[RC_MESSAGE_BYTES];
    const char *why = "";
    bool is_refused = false;
    uint16_t port = 0;

    gang_member_text(gang, 0, name, sizeof name);
    if (!gang_split_address(gang->root, host, &port))
        return rc_raise(RC_INVAL, "%s: %s", gang->root, gang_address_fault(gang->root));
    (void)snprintf(service, sizeof service, "%d", port);
    do {
        struct addrinfo *found = NULL;
        const int error = getaddrinfo(host, service, &wanted, &found);
        *fd = -1;
        if (error != 0)
            why = gai_strerror(error);
        for (const struct addrinfo *to = found; to && *fd < 0; to = to->ai_next) {
            *fd = connect_to(to, limit_ns);
            is_refused = *fd < 0 && errno == ECONNREFUSED;
            why = *fd < 0 ? strerror(errno) : "";
        }
        if (found)
            freeaddrinfo(found);
        if (*fd >= 0)
            return RC_OK;
        if (is_again && is_refused)
            return rc_raise(RC_PEER, HUB_ENDED, gang->root);
        (void)nanosleep(&pause, NULL);
        if (launch_has_ended(gang->news, 0)) {
            gang_early_loss_text(gang, 0, GANG_END_WHY, text);
            return rc_raise(RC_PEER, "%s", text);
        }
        if (stop_wanted())
            return rc_raise(RC_PEER, "%s while rank 0 was not there yet: %s", stop_signal_name(stop_signal()), name);
    } while (ms_until(limit_ns) > 0);
    return rc_raise(RC_TIMEOUT, "not there after %.3g s: %s, by %s: %s", gang->start_s, name, gang->root, why);
}

enum rc tcp_await_message(struct tcp_stream *s, struct tcp_message *out, uint64_t limit_ns)
{
    enum rc rc;

    for (;;) {
        TRY(tcp_stream_tend(s));
        if (tcp_stream_take(s, out))
            return RC_OK;
        const uint64_t left_ms = ms_until(limit_ns);
        if (stop_wanted())
            return rc_raise(RC_TIMEOUT, "%s while the gang was not there yet", stop_signal_name(stop_signal()));
        if (left_ms == 0)
            return rc_raise(RC_TIMEOUT, "does not answer");
        wait_for(tcp_stream_fd(s), tcp_stream_has_to_send(s), left_ms);
    }
out:
    return rc;
}

static enum rc say_hello(struct tcp_stream *s, const struct tcp_link_opts *opts, uint64_t limit_ns)
{
    const size_t n_text = strlen(opts->gang->text), n_bytes = TCP_HELLO_FIXED_BYTES + n_text;
    unsigned char *body = malloc(n_bytes);
    enum rc rc = RC_OK;

    if (!body)
        return rc_raise(RC_NOMEM, "no memory for %zu bytes", n_bytes);
    bytes_put(body, opts->gang->joins ? TCP_GUEST_RANK : (uint64_t)opts->gang->rank, 4);
    bytes_put(body + 4, (uint64_t)opts->gang->n_ranks, 4);
    bytes_put(body + 8, (uint64_t)opts->on_loss, 4);
    memcpy(body + 12, opts->place, TCP_PLACE_BYTES);
    memcpy(body + TCP_HELLO_FIXED_BYTES, opts->gang->text, n_text);
    while (!tcp_stream_is_open(s)) {
        TRY(tcp_stream_tend(s));
        const uint64_t left_ms = ms_until(limit_ns);
        if (left_ms == 0)
            FAIL(RC_TIMEOUT, "what listens at %s does not answer", opts->gang->root);
        if (!tcp_stream_is_open(s))
            wait_for(tcp_stream_fd(s), tcp_stream_has_to_send(s), left_ms);
    }
    TRY(tcp_stream_post(s, &(struct tcp_message){ .type = TCP_HELLO, .body = body, .n_bytes = n_bytes }));
out:
    free(body);
    return rc;
}

/* TCP_GO, of a guest TCP_WELCOME, or TCP_STOP. */
static enum rc take_answer(struct tcp_message *m, const struct gang *gang, struct tcp_message *welcome, int *host_of)
{
    const size_t n_hosts_bytes = 4 * (size_t)gang->n_ranks;

    if (m->type == TCP_STOP && m->n_bytes >= 4) {
        const int32_t code = (int32_t)bytes_get(m->body, 4);
        return rc_raise(code == RC_TIMEOUT || code == RC_PEER ? (enum rc)code : RC_MISMATCH, "%.*s",
                        (int)(m->n_bytes - 4), (const char *)m->body + 4);
    }
    if (welcome && m->type == TCP_WELCOME) {
        *welcome = *m;
        m->body = NULL;
        return RC_OK;
    }
    if (m->type != TCP_GO || m->n_bytes != n_hosts_bytes)
        return rc_raise(RC_MISMATCH, "rank 0 at %s answers with a message of type %u", gang->root, m->type);
    for (int r = 0; r < gang->n_ranks; r++)
        host_of[r] = (int)bytes_get(m->body + 4 * (size_t)r, 4);
    return RC_OK;
}

/* Connect, and say who this process is. RC_PEER: the connection has ended. */
static enum rc say_hello_to_hub(struct tcp_stream **out, const struct tcp_link_opts *opts, int fd, uint64_t limit_ns)
{
    enum rc rc;

    TRY(tcp_stream_open(out, fd, true, opts->gang->key));
    tcp_stream_limit(*out, TCP_MOST_BYTES);
    TRY(say_hello(*out, opts, limit_ns + TCP_GRACE_NS));
out:
    return rc;
}

/* *s: the connection, on errors too. Where it ends before rank 0 has read its first bytes, strangers had all the places
 * of rank 0: it is made again. */
static enum rc ask(struct tcp_stream **s, struct tcp_message *answer, const struct tcp_link_opts *opts,
                   uint64_t limit_ns)
{
    const struct gang *gang = opts->gang;
    int fd = opts->fd;
    bool is_again = false;
    enum rc rc;

    do {
        tcp_stream_close(s);
        if (fd < 0)
            TRY(reach_hub(&fd, gang, limit_ns, is_again));
        hold_at("connected", gang->rank, 0);
        rc = say_hello_to_hub(s, opts, fd, limit_ns);
        if (rc == RC_OK)
            rc = tcp_await_message(*s, answer, wait_clock_ns() + (uint64_t)(1e9 * gang->start_s) + TCP_GRACE_NS);
        fd = -1;
        is_again = true;
    } while (rc == RC_PEER && *s && !tcp_stream_has_shown_key(*s) && opts->fd < 0 && ms_until(limit_ns) > 0);
    if (rc == RC_PEER)
        FAIL(RC_PEER, HUB_ENDED, gang->root);
    if (rc != RC_OK)
        FAIL(rc == RC_TIMEOUT ? rc : RC_MISMATCH, "rank 0 at %s: %.300s", gang->root, rc_message());
out:
    return rc;
}

enum rc tcp_connect(struct tcp_stream **out, const struct tcp_link_opts *opts, int *host_of)
{
    const struct gang *gang = opts->gang;
    const uint64_t limit_ns = wait_clock_ns() + (uint64_t)(1e9 * gang->start_s);
    struct tcp_message answer = { .body = NULL };
    struct tcp_stream *s = NULL;
    enum rc rc;

    TRY(ask(&s, &answer, opts, limit_ns));
    TRY(take_answer(&answer, gang, opts->welcome, host_of));
    *out = s;
    s = NULL;
out:
    free(answer.body);
    tcp_stream_close(&s);
    return rc;
}
