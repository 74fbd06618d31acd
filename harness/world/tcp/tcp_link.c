/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_link.c - a rank's connection once the gang is there; the contract is in tcp_link.h. How it begins: tcp_connect.c.
 */
#include "harness/world/tcp/tcp_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/world/host_address.h"
#include "harness/world/tcp/tcp_connect.h"
#include "harness/world/tcp/tcp_link_state.h"

/* From a failure of the run until this process is ended. */
#define LEAVE_NS UINT64_C(2500000000)
/* To answer a ping. */
#define PONG_NS UINT64_C(10000000000)
/* To say that this rank has left. */
#define CLOSE_NS UINT64_C(3000000000)

enum { POLL_MS = 100, N_PINGS = 50 };

/* --- failures --- */

/* Under l->lock. */
static void note_failure(struct tcp_link *l, int rank, enum rc code, const char *why)
{
    if (atomic_load(&l->has_failed))
        return;
    l->failed_rank = rank;
    l->failed_code = code;
    l->failed_ns = wait_clock_ns();
    (void)snprintf(l->failed_why, sizeof l->failed_why, "%s", why);
    atomic_store(&l->has_failed, true); /* publishes what is above */
}

static _Noreturn void end_process(const struct tcp_link *l)
{
    char line[RC_MESSAGE_BYTES + 128];
    const int n = snprintf(line, sizeof line, "gradmark: rank %d: %s; process of rank %d does not end by itself\n",
                           l->failed_rank, l->failed_why, l->own);

    if (n > 0)
        (void)!write(STDERR_FILENO, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
    _exit(l->failure_exit_code);
}

enum rc tcp_link_check(const struct tcp_link *l)
{
    if (!l || !atomic_load_explicit(&l->has_failed, memory_order_acquire))
        return RC_OK;
    if (l->failed_rank < 0)
        return rc_raise(RC_PEER, "%s", l->failed_why);
    return rc_raise(RC_PEER, "rank %d failed: %s", l->failed_rank, l->failed_why);
}

bool tcp_link_failure(const struct tcp_link *l, int *rank, enum rc *why, const char **message)
{
    if (!atomic_load_explicit(&l->has_failed, memory_order_acquire))
        return false;
    *rank = l->failed_rank;
    *why = l->failed_code;
    *message = l->failed_why;
    return true;
}

/* --- what comes --- */

static void take_failure(struct tcp_link *l, const struct tcp_message *m)
{
    char why[RC_MESSAGE_BYTES];
    const size_t n_text = m->n_bytes - TCP_FAIL_FIXED_BYTES;

    if (m->n_bytes < TCP_FAIL_FIXED_BYTES || n_text >= sizeof why)
        return;
    memcpy(why, m->body + TCP_FAIL_FIXED_BYTES, n_text);
    why[n_text] = '\0';
    note_failure(l, (int32_t)bytes_get(m->body, 4), (enum rc)(int32_t)bytes_get(m->body + 4, 4), why);
}

static void take_result(struct tcp_link *l, struct tcp_message *m)
{
    if (l->has_result)
        free(l->result.body); /* of a call that was given up */
    l->result = *m;
    l->has_result = true;
    m->body = NULL;
}

/* Under l->lock. */
static void take(struct tcp_link *l, struct tcp_message *m)
{
    if (m->type == TCP_FAIL && !l->has_left)
        take_failure(l, m);
    if (m->type == TCP_GUEST || m->type == TCP_READY || m->type == TCP_HALT || m->type == TCP_LOST)
        link_take_of_guests(l, m);
    if (m->type == TCP_RESULT)
        take_result(l, m);
}

/* Under l->lock. */
static void tend(struct tcp_link *l)
{
    struct tcp_message m;
    enum rc rc = tcp_stream_tend(l->stream);

    while (rc == RC_OK && tcp_stream_take(l->stream, &m)) {
        take(l, &m);
        free(m.body);
    }
    if (rc == RC_OK)
        return;
    l->is_broken = true;
    if (!l->is_closing && l->beats)
        note_failure(l, -1, RC_PEER, "the run has ended without this worker, or counts it as lost");
    else if (!l->is_closing)
        note_failure(l, 0, RC_PEER, GANG_LOSS_WHY); /* or has this rank lost for another reason */
}

static void *link_main(void *arg)
{
    struct tcp_link *l = arg;
    uint64_t n_wakes;

    for (;;) {
        pthread_mutex_lock(&l->lock);
        if (!l->is_broken) {
            link_beat(l);
            tend(l);
        }
        struct pollfd p[2] = { { .fd = l->wake_fd, .events = POLLIN }, { .fd = -1 } };
        if (!l->is_broken) {
            p[1].fd = tcp_stream_fd(l->stream);
            p[1].events = (short)(tcp_stream_has_to_send(l->stream) ? POLLIN | POLLOUT : POLLIN);
        }
        const bool is_over = l->is_over;
        pthread_mutex_unlock(&l->lock);
        doorbell_ring(&l->bell);
        if (is_over)
            return NULL;
        if (!l->ends_no_process && atomic_load(&l->has_failed) && wait_clock_ns() - l->failed_ns > LEAVE_NS)
            end_process(l);
        (void)poll(p, 2, POLL_MS);
        if (p[0].revents & POLLIN)
            (void)!read(l->wake_fd, &n_wakes, sizeof n_wakes);
    }
}

/* --- what goes --- */

static void wake(struct tcp_link *l)
{
    const uint64_t one = 1;

    (void)!write(l->wake_fd, &one, sizeof one);
}

enum rc tcp_link_post(struct tcp_link *l, const struct tcp_message *m)
{
    enum rc rc = RC_OK;

    pthread_mutex_lock(&l->lock);
    if (!l->is_broken)
        rc = tcp_stream_post(l->stream, m);
    pthread_mutex_unlock(&l->lock);
    wake(l);
    return rc;
}

void tcp_link_fail(struct tcp_link *l, int rank, enum rc why, const char *message)
{
    unsigned char body[TCP_FAIL_FIXED_BYTES + RC_MESSAGE_BYTES];
    const size_t n_text = strnlen(message, RC_MESSAGE_BYTES - 1);

    pthread_mutex_lock(&l->lock);
    const bool is_first = !atomic_load(&l->has_failed);
    note_failure(l, rank, why, message);
    pthread_mutex_unlock(&l->lock);
    if (!is_first)
        return;
    bytes_put(body, (uint64_t)rank, 4);
    bytes_put(body + 4, (uint32_t)why, 4);
    memcpy(body + TCP_FAIL_FIXED_BYTES, message, n_text);
    /* without memory for it this process's end tells them */
    (void)!tcp_link_post(
        l, &(struct tcp_message){ .type = TCP_FAIL, .body = body, .n_bytes = TCP_FAIL_FIXED_BYTES + n_text });
}

void tcp_link_await(struct tcp_link *l, uint64_t number, uint64_t limit_ns, struct tcp_message *out, bool *has_come)
{
    const uint32_t seen = doorbell_seen(&l->bell);

    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&l->lock);
        *has_come = l->has_result && l->result.number == number;
        if (*has_come) {
            *out = l->result;
            l->has_result = false;
        }
        pthread_mutex_unlock(&l->lock);
        if (*has_come || i == 1)
            return;
        (void)doorbell_wait(&l->bell, seen, false, limit_ns);
    }
}

/* --- begin and end --- */

enum rc tcp_link_open(struct tcp_link **out, const struct tcp_link_opts *opts, int *host_of)
{
    struct tcp_link *l = calloc(1, sizeof *l);
    enum rc rc;

    *out = NULL;
    if (!l) {
        if (opts->fd >= 0)
            (void)close(opts->fd);
        return rc_raise(RC_NOMEM, "no memory for a connection");
    }
    l->own = opts->gang->rank;
    l->failure_exit_code = opts->failure_exit_code;
    l->ends_no_process = opts->ends_no_process;
    pthread_mutex_init(&l->lock, NULL);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    TRY(tcp_connect(&l->stream, opts, host_of));
    if (l->wake_fd < 0)
        FAIL(RC_IO, "eventfd: %s", strerror(errno));
    *out = l;
    l = NULL;
out:
    if (l)
        tcp_link_close(&l);
    return rc;
}

/* The answer to ping i, and what comes before it. */
static enum rc await_pong(struct tcp_link *l, uint64_t i, uint64_t *hub_ns)
{
    const uint64_t limit_ns = wait_clock_ns() + PONG_NS;
    struct tcp_message m = { .body = NULL };
    bool is_pong = false;
    enum rc rc;

    while (!is_pong) {
        rc = tcp_await_message(l->stream, &m, limit_ns);
        if (rc == RC_PEER)
            note_failure(l, 0, RC_PEER, GANG_LOSS_WHY);
        TRY(rc);
        is_pong = m.type == TCP_PONG && m.number == i && m.n_bytes == 8;
        if (is_pong)
            *hub_ns = bytes_get(m.body, 8);
        else
            take(l, &m);
        free(m.body);
        TRY(tcp_link_check(l));
    }
out:
    return rc;
}

enum rc tcp_link_clock_offset(struct tcp_link *l, int64_t *out_ns)
{
    uint64_t shortest_ns = UINT64_MAX, hub_ns;
    enum rc rc = RC_OK;

    *out_ns = 0;
    for (uint64_t i = 0; i < N_PINGS; i++) {
        const uint64_t start_ns = wait_clock_ns();
        TRY(tcp_stream_post(l->stream, &(struct tcp_message){ .type = TCP_PING, .number = i }));
        TRY(await_pong(l, i, &hub_ns));
        const uint64_t end_ns = wait_clock_ns();
        if (end_ns - start_ns < shortest_ns) {
            shortest_ns = end_ns - start_ns;
            *out_ns = wait_clock_offset(start_ns, hub_ns, end_ns);
        }
    }
out:
    return rc;
}

void tcp_link_own_address(const struct tcp_link *l, char *out)
{
    struct sockaddr_in at;
    socklen_t n_bytes = sizeof at;

    out[0] = '\0';
    if (getsockname(tcp_stream_fd(l->stream), (struct sockaddr *)&at, &n_bytes) == 0 && at.sin_family == AF_INET)
        (void)inet_ntop(AF_INET, &at.sin_addr, out, HOST_ADDRESS_BYTES);
}

bool tcp_link_is_started(const struct tcp_link *l)
{
    return l->is_started;
}

enum rc tcp_link_start(struct tcp_link *l)
{
    if (pthread_create(&l->thread, NULL, link_main, l) != 0)
        return rc_raise(RC_NOMEM, "the thread of a connection cannot be started");
    l->is_started = true;
    return RC_OK;
}

/* Until it is said; the thread sends. */
static void await_sent(struct tcp_link *l)
{
    const uint64_t started_ns = wait_clock_ns();
    bool is_sent = false;

    while (!is_sent && wait_clock_ns() - started_ns < CLOSE_NS) {
        const uint32_t seen = doorbell_seen(&l->bell);
        pthread_mutex_lock(&l->lock);
        is_sent = l->is_broken || !tcp_stream_has_to_send(l->stream);
        pthread_mutex_unlock(&l->lock);
        if (!is_sent)
            (void)doorbell_wait(&l->bell, seen, false, WAIT_SLICE_NS);
    }
}

void tcp_link_leave(struct tcp_link *l)
{
    pthread_mutex_lock(&l->lock);
    l->is_closing = l->has_left = true;
    pthread_mutex_unlock(&l->lock);
    /* without memory for it this rank is lost to the others */
    (void)!tcp_link_post(l, &(struct tcp_message){ .type = TCP_LEAVE });
}

void tcp_link_close(struct tcp_link **lp)
{
    struct tcp_link *l = *lp;

    if (!l)
        return;
    if (l->is_started) {
        pthread_mutex_lock(&l->lock);
        l->is_closing = true;
        pthread_mutex_unlock(&l->lock);
        if (!atomic_load(&l->has_failed))
            (void)!tcp_link_post(l, &(struct tcp_message){ .type = TCP_LEAVE });
        await_sent(l);
        pthread_mutex_lock(&l->lock);
        l->is_over = true;
        pthread_mutex_unlock(&l->lock);
        wake(l);
        pthread_join(l->thread, NULL);
    }
    tcp_stream_close(&l->stream);
    link_free_guests(l);
    if (l->has_result)
        free(l->result.body);
    if (l->wake_fd >= 0)
        (void)close(l->wake_fd);
    pthread_mutex_destroy(&l->lock);
    free(l);
    *lp = NULL;
}
