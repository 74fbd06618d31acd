/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_link.c - a rank's connection with the hub; the contract is in tcp_link.h. */
#include "harness/world/tcp/tcp_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/hold.h"
#include "harness/world/host_address.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/stop.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/tcp/tcp_link_state.h"
#include "harness/world/tcp/tcp_protocol.h"
#include "harness/world/wait.h"
#include "harness/world/world.h"

/* --- guests --- */

#define BEAT_NS UINT64_C(100000000)

/* Behind those that came before. Without memory for it, it is not there for this host, and waits until it gives up. */
static void note_entered(struct tcp_link *l, int guest, const unsigned char *bytes, size_t n_bytes)
{
    struct link_guest *news = calloc(1, sizeof *news), **end = &l->news;

    if (!news || !(news->bytes = malloc(n_bytes > 0 ? n_bytes : 1))) {
        free(news);
        return;
    }
    memcpy(news->bytes, bytes, n_bytes);
    news->guest = guest;
    news->n_bytes = n_bytes;
    while (*end)
        end = &(*end)->next;
    *end = news;
    atomic_fetch_add(&l->n_news, 1);
}

static void take_guest(struct tcp_link *l, const struct tcp_message *m)
{
    if (m->n_bytes < TCP_GUEST_FIXED_BYTES || !l->losses || l->is_guest)
        return;
    const int guest = (int)bytes_get(m->body, 4);
    const uint64_t state = bytes_get(m->body + 4, 4);
    if (guest < 0 || l->n_ranks + guest >= l->losses->n_ranks)
        return;
    if (state == TCP_GUEST_CAME && l->is_host)
        note_entered(l, guest, m->body + TCP_GUEST_FIXED_BYTES, m->n_bytes - TCP_GUEST_FIXED_BYTES);
    else if (state != TCP_GUEST_CAME)
        (void)peer_losses_add(l->losses, l->n_ranks + guest,
                              state == TCP_GUEST_LEFT     ? WORLD_LEFT_WHY
                              : state == TCP_GUEST_SILENT ? "silent for too long"
                                                          : GANG_LOSS_WHY);
}

/* world.G6 */
static void take_loss(struct tcp_link *l, const struct tcp_message *m)
{
    char why[RC_MESSAGE_BYTES];
    const size_t n_text = m->n_bytes - TCP_LOST_FIXED_BYTES;

    if (!l->is_guest || m->n_bytes < TCP_LOST_FIXED_BYTES || n_text >= sizeof why)
        return;
    memcpy(why, m->body + TCP_LOST_FIXED_BYTES, n_text);
    why[n_text] = '\0';
    if (bytes_get(m->body, 4) < (uint64_t)l->n_ranks)
        (void)peer_losses_add(l->losses, (int)bytes_get(m->body, 4), why);
}

/* A message about late joiners, or to one. */
static void link_take_of_guests(struct tcp_link *l, const struct tcp_message *m)
{
    if (m->type == TCP_GUEST)
        take_guest(l, m);
    else if (m->type == TCP_LOST)
        take_loss(l, m);
    else if (m->type == TCP_READY)
        l->is_ready = true;
    else if (l->beats && m->n_bytes == 4)
        atomic_store(&l->beats->stop_signal, (int)bytes_get(m->body, 4));
}

/* Sends a late joiner's sign of life if it is due. */
static void link_beat(struct tcp_link *l)
{
    const uint64_t now_ns = wait_clock_ns();
    unsigned char body[8];

    if (!l->beats || now_ns - l->beat_ns < BEAT_NS || l->is_closing)
        return;
    l->beat_ns = now_ns;
    bytes_put(body, atomic_load_explicit(&l->beats->n_ticks, memory_order_relaxed), sizeof body);
    /* without memory for it the next one says so much */
    (void)!tcp_stream_post(l->stream, &(struct tcp_message){ .type = TCP_BEAT, .body = body, .n_bytes = sizeof body });
}

static void free_one(struct link_guest *g)
{
    if (g)
        free(g->bytes);
    free(g);
}

static void link_free_guests(struct tcp_link *l)
{
    while (l->news) {
        struct link_guest *g = l->news;
        l->news = g->next;
        free_one(g);
    }
    free_one(l->told);
    l->told = NULL;
}

void tcp_link_watch_guests(struct tcp_link *l, struct peer_losses *losses, int n_ranks, bool is_host)
{
    pthread_mutex_lock(&l->lock);
    l->losses = losses;
    l->n_ranks = n_ranks;
    l->is_host = is_host;
    pthread_mutex_unlock(&l->lock);
}

void tcp_link_watch_members(struct tcp_link *l, struct peer_losses *losses, int n_ranks)
{
    pthread_mutex_lock(&l->lock);
    l->losses = losses;
    l->n_ranks = n_ranks;
    l->is_guest = true;
    pthread_mutex_unlock(&l->lock);
}

/* The hub is told that this host knows of the last one. */
static void end_told(struct tcp_link *l)
{
    unsigned char body[4];

    if (!l->told)
        return;
    bytes_put(body, (uint64_t)l->told->guest, sizeof body);
    (void)!tcp_link_post(l, &(struct tcp_message){ .type = TCP_HOSTED, .body = body, .n_bytes = sizeof body });
    free_one(l->told);
    l->told = NULL;
}

bool tcp_link_next_guest(struct tcp_link *l, int *guest, const unsigned char **bytes, size_t *n_bytes)
{
    end_told(l);
    if (atomic_load_explicit(&l->n_news, memory_order_acquire) == 0)
        return false;
    pthread_mutex_lock(&l->lock);
    l->told = l->news;
    l->news = l->told->next;
    atomic_fetch_sub(&l->n_news, 1);
    pthread_mutex_unlock(&l->lock);
    *guest = l->told->guest;
    *bytes = l->told->bytes;
    *n_bytes = l->told->n_bytes;
    return true;
}

void tcp_link_beat(struct tcp_link *l, struct peer_seat *seat)
{
    pthread_mutex_lock(&l->lock);
    l->beats = seat;
    pthread_mutex_unlock(&l->lock);
}

bool tcp_link_is_ready(struct tcp_link *l)
{
    pthread_mutex_lock(&l->lock);
    const bool is_ready = l->is_ready;
    pthread_mutex_unlock(&l->lock);
    return is_ready;
}

/* From a failure of the run until this process is ended. */
#define LEAVE_NS UINT64_C(2500000000)
/* To answer a ping. */
#define PONG_NS UINT64_C(10000000000)
/* To say that this rank has left. */
#define CLOSE_NS UINT64_C(3000000000)

enum { POLL_MS = 100, N_PINGS = 50, RETRY_MS = 50, ATTEMPT_MS = 3000 };

#define HUB_ENDED "rank 0 at %s has ended the connection before it answered: it has failed"

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

/* --- to find the hub. Rank 0 may come later than others: they try again until the limit --- */

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

/* Sleeps until the next message. RC_TIMEOUT: none came until limit_ns, of wait_clock_ns(). */
static enum rc await_message(struct tcp_stream *s, struct tcp_message *out, uint64_t limit_ns)
{
    enum rc rc;

    for (;;) {
        TRY(tcp_stream_tend(s));
        if (tcp_stream_take(s, out))
            return RC_OK;
        const uint64_t left_ms = ms_until(limit_ns);
        if (stop_wanted())
            return rc_raise(RC_TIMEOUT, "%s while the other processes were not there yet",
                            stop_signal_name(stop_signal()));
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
            rc = await_message(*s, answer, wait_clock_ns() + (uint64_t)(1e9 * gang->start_s) + TCP_GRACE_NS);
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

/* As tcp_link_open(). */
static enum rc find_hub(struct tcp_stream **out, const struct tcp_link_opts *opts, int *host_of)
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
    TRY(find_hub(&l->stream, opts, host_of));
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
        rc = await_message(l->stream, &m, limit_ns);
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

/* --- --drop-h --- */
