/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub.c - the thread of the hub and its members' connections; the contract is in tcp_hub.h. */
#include "harness/world/tcp/tcp_hub.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/world/tcp/tcp_hub_state.h"

/* From the end of this process's part until the last member's connection is given up. */
#define LINGER_NS UINT64_C(3000000000)

enum { POLL_MS = 20 };

/* --- what members are told --- */

void hub_post(struct tcp_hub *h, int rank, const struct tcp_message *m)
{
    struct tcp_stream *s = h->member[rank].stream;

    if (s && tcp_stream_is_open(s) && tcp_stream_post(s, m) != RC_OK)
        tcp_stream_limit(s, 0); /* no memory: what comes next ends the connection, and so the run */
}

void hub_fail(struct tcp_hub *h, int rank, enum rc code, const char *why)
{
    unsigned char body[TCP_FAIL_FIXED_BYTES + RC_MESSAGE_BYTES];
    const size_t n_text = strnlen(why, RC_MESSAGE_BYTES - 1);

    if (h->has_failed)
        return;
    h->has_failed = true;
    bytes_put(body, (uint64_t)rank, 4);
    bytes_put(body + 4, (uint32_t)code, 4);
    memcpy(body + TCP_FAIL_FIXED_BYTES, why, n_text);
    for (int r = 0; r < h->n_ranks; r++)
        hub_post(h, r,
                 &(struct tcp_message){ .type = TCP_FAIL, .body = body, .n_bytes = TCP_FAIL_FIXED_BYTES + n_text });
    hub_post_to_guests(
        h, &(struct tcp_message){ .type = TCP_FAIL, .body = body, .n_bytes = TCP_FAIL_FIXED_BYTES + n_text });
}

bool hub_is_lost(struct tcp_hub *h, int rank, char *why)
{
    bool is_lost = false;

    pthread_mutex_lock(&h->lock);
    if (h->losses && peer_losses_has(h->losses, rank)) {
        is_lost = true;
        (void)snprintf(why, RC_MESSAGE_BYTES, "%s", peer_losses_why(h->losses, rank));
    }
    pthread_mutex_unlock(&h->lock);
    return is_lost;
}

/* --- what members say --- */

/* Its connection has ended. */
static void lose_member(struct tcp_hub *h, int rank)
{
    struct hub_member *m = &h->member[rank];

    tcp_stream_close(&m->stream);
    if (m->has_left || h->has_failed || h->has_stopped)
        return;
    if (!h->has_gone) {
        hub_stop_for_loss(h, rank);
        return;
    }
    pthread_mutex_lock(&h->lock);
    const bool is_shown = h->on_loss == ON_LOSS_REPORT && h->has_begun && h->seat && rank != 0;
    if (is_shown)
        peer_show_lost(&h->seat[rank], 0); /* a watch enters it among the losses */
    pthread_mutex_unlock(&h->lock);
    if (!is_shown)
        hub_fail(h, rank, RC_PEER, GANG_LOSS_WHY);
}

static void pong(struct tcp_hub *h, int rank, uint64_t number)
{
    unsigned char now[8];

    bytes_put(now, wait_clock_ns(), sizeof now);
    hub_post(h, rank, &(struct tcp_message){ .type = TCP_PONG, .number = number, .body = now, .n_bytes = sizeof now });
}

static enum rc take_failure(struct tcp_hub *h, int rank, const struct tcp_message *m)
{
    char why[RC_MESSAGE_BYTES], lost[RC_MESSAGE_BYTES];

    if (m->n_bytes < TCP_FAIL_FIXED_BYTES || m->n_bytes >= TCP_FAIL_FIXED_BYTES + sizeof why)
        return rc_raise(RC_MISMATCH, "a failure of %zu bytes", m->n_bytes);
    memcpy(why, m->body + TCP_FAIL_FIXED_BYTES, m->n_bytes - TCP_FAIL_FIXED_BYTES);
    why[m->n_bytes - TCP_FAIL_FIXED_BYTES] = '\0';
    const int32_t failed = (int32_t)bytes_get(m->body, 4); /* that rank, or one whose silence it has noticed */
    if (!hub_is_lost(h, rank, lost))                       /* whatever a lost rank ends with is no failure (world.W8) */
        hub_fail(h, failed, (enum rc)(int32_t)bytes_get(m->body + 4, 4), why);
    return RC_OK;
}

static enum rc take(struct tcp_hub *h, int rank, struct tcp_message *m)
{
    switch (m->type) {
    case TCP_PING:
        pong(h, rank, m->number);
        return RC_OK;
    case TCP_CALL:
        return hub_call(h, rank, m);
    case TCP_CLOSE:
        return hub_close_world(h, rank, m);
    case TCP_FAIL:
        return take_failure(h, rank, m);
    case TCP_LEAVE:
        h->member[rank].has_left = true;
        return RC_OK;
    case TCP_DOORS:
    case TCP_HOSTED:
        return hub_take_of_guests(h, rank, m);
    default:
        return rc_raise(RC_MISMATCH, "a message of type %u", m->type);
    }
}

static void tend_member(struct tcp_hub *h, int rank)
{
    struct tcp_stream *s = h->member[rank].stream;
    struct tcp_message m;
    enum rc rc = tcp_stream_tend(s);

    while (rc == RC_OK && tcp_stream_take(s, &m)) {
        rc = take(h, rank, &m);
        free(m.body);
    }
    if (rc == RC_OK && tcp_stream_has_to_send(s))
        rc = tcp_stream_tend(s);
    if (rc != RC_OK)
        lose_member(h, rank);
}

/* --- the thread --- */

/* Have all that can leave left? Where the run has failed, it is enough that they are told; where it has not begun,
 * those are, too, who are about to say who they are. */
static bool are_all_gone(const struct tcp_hub *h)
{
    for (int i = 0; i < HUB_N_STRANGERS && h->has_stopped; i++)
        if (h->stranger[i].stream && (!h->stranger[i].is_refused || tcp_stream_has_to_send(h->stranger[i].stream)))
            return false;
    for (int r = 0; r < h->n_ranks; r++)
        if (h->member[r].stream && (!(h->has_failed || h->has_stopped) || tcp_stream_has_to_send(h->member[r].stream)))
            return false;
    return true;
}

static void wait_for_any(struct tcp_hub *h, uint64_t now_ns)
{
    struct pollfd *p = h->polled;
    const int gather_ms = hub_gather_wait_ms(h, now_ns);
    int n = 0;

    p[n++] = (struct pollfd){ .fd = h->wake_fd, .events = POLLIN };
    p[n++] = (struct pollfd){ .fd = hub_has_place(h, now_ns) ? h->listening_fd : -1, .events = POLLIN };
    for (int i = 0; i < h->n_ranks + HUB_N_STRANGERS; i++) {
        const struct tcp_stream *s = i < h->n_ranks ? h->member[i].stream : h->stranger[i - h->n_ranks].stream;
        if (s)
            p[n++] = (struct pollfd){ .fd = tcp_stream_fd(s),
                                      .events = (short)(tcp_stream_has_to_send(s) ? POLLIN | POLLOUT : POLLIN) };
    }
    n += hub_poll_guests(h, p + n);
    (void)poll(p, (nfds_t)n, gather_ms >= 0 && gather_ms < POLL_MS ? gather_ms : POLL_MS);
}

static void *hub_main(void *arg)
{
    struct tcp_hub *h = arg;
    uint64_t over_ns = 0;

    for (;;) {
        const uint64_t now_ns = wait_clock_ns();
        if (atomic_load(&h->is_over) && over_ns == 0)
            over_ns = now_ns;
        if (over_ns > 0 && (are_all_gone(h) || now_ns - over_ns > LINGER_NS))
            break;
        wait_for_any(h, now_ns);
        hub_gather(h, now_ns);
        for (int r = 0; r < h->n_ranks; r++)
            if (h->member[r].stream)
                tend_member(h, r);
        hub_check_opening(h, now_ns);
        hub_tend_guests(h, now_ns);
        if (h->on_loss == ON_LOSS_REPORT)
            hub_answer_losses(h);
    }
    return NULL;
}

/* --- to open it --- */

static enum rc begin(struct tcp_hub *h, int *link_fd)
{
    int pair[2];
    enum rc rc;

    h->member = calloc((size_t)h->n_ranks, sizeof *h->member);
    h->stranger = calloc(HUB_N_STRANGERS, sizeof *h->stranger);
    h->polled = calloc((size_t)h->n_ranks + (size_t)h->gang->n_guests + HUB_N_STRANGERS + 2, sizeof *h->polled);
    if (!h->member || !h->stranger || !h->polled)
        FAIL(RC_NOMEM, "no memory for a run of %d processes", h->n_ranks);
    TRY(gang_check_files((uint64_t)h->n_ranks + (uint64_t)h->gang->n_guests));
    TRY(hub_worlds_open(h));
    TRY(hub_guests_open(h));
    h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (h->wake_fd < 0)
        FAIL(RC_IO, "eventfd: %s", strerror(errno));
    if (h->gang->listening_fd >= 0)
        h->listening_fd = h->gang->listening_fd;
    else
        TRY(gang_listen(&h->listening_fd, h->gang->root, h->gang->interface));
    if (fcntl(h->listening_fd, F_SETFD, FD_CLOEXEC) != 0 || fcntl(h->listening_fd, F_SETFL, O_NONBLOCK) != 0)
        FAIL(RC_IO, "the port of %s cannot be used: %s", h->gang->root, strerror(errno));
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        FAIL(RC_IO, "socketpair: %s", strerror(errno));
    *link_fd = pair[1];
    TRY(tcp_stream_open(&h->stranger[0].stream, pair[0], false, h->gang->key));
    tcp_stream_limit(h->stranger[0].stream, TCP_HELLO_MOST_BYTES);
    h->stranger[0].came_ns = h->started_ns;
    atomic_store(&h->n_strangers, 1);
    if (pthread_create(&h->thread, NULL, hub_main, h) != 0)
        FAIL(RC_NOMEM, "the thread of the hub cannot be started");
out:
    if (rc != RC_OK && *link_fd >= 0) {
        (void)close(*link_fd);
        *link_fd = -1;
    }
    return rc;
}

static void hub_free(struct tcp_hub *h)
{
    for (int r = 0; h->member && r < h->n_ranks; r++)
        tcp_stream_close(&h->member[r].stream);
    for (int i = 0; h->stranger && i < HUB_N_STRANGERS; i++)
        tcp_stream_close(&h->stranger[i].stream);
    hub_guests_close(h);
    hub_worlds_close(h);
    if (h->wake_fd >= 0)
        (void)close(h->wake_fd);
    if (h->listening_fd >= 0)
        (void)close(h->listening_fd);
    pthread_mutex_destroy(&h->lock);
    free(h->member);
    free(h->stranger);
    free(h->polled);
    free(h);
}

enum rc tcp_hub_open(struct tcp_hub **out, const struct gang *gang, enum on_loss on_loss, int *link_fd)
{
    struct tcp_hub *h = calloc(1, sizeof *h);
    enum rc rc;

    *out = NULL;
    *link_fd = -1;
    if (!h)
        return rc_raise(RC_NOMEM, "no memory for the hub of a run");
    *h = (struct tcp_hub){ .gang = gang, .n_ranks = gang->n_ranks, .on_loss = on_loss };
    h->listening_fd = h->wake_fd = -1;
    h->started_ns = wait_clock_ns();
    pthread_mutex_init(&h->lock, NULL);
    rc = begin(h, link_fd);
    if (rc == RC_OK)
        *out = h;
    else
        hub_free(h);
    return rc;
}

void tcp_hub_watch(struct tcp_hub *h, struct peer_seat *seat, const struct peer_losses *losses)
{
    if (!h)
        return;
    pthread_mutex_lock(&h->lock);
    h->seat = seat;
    h->losses = losses;
    pthread_mutex_unlock(&h->lock);
}

void tcp_hub_reached_address(struct tcp_hub *h, char out[HOST_ADDRESS_BYTES])
{
    pthread_mutex_lock(&h->lock);
    if (h->address[0] != '\0')
        memcpy(out, h->address, sizeof h->address);
    pthread_mutex_unlock(&h->lock);
}

uint64_t tcp_hub_n_strangers(const struct tcp_hub *h)
{
    return atomic_load(&h->n_strangers);
}

void tcp_hub_close(struct tcp_hub **hp)
{
    struct tcp_hub *h = *hp;
    const uint64_t one = 1;

    if (!h)
        return;
    atomic_store(&h->is_over, true);
    (void)!write(h->wake_fd, &one, sizeof one);
    pthread_join(h->thread, NULL);
    hub_free(h);
    *hp = NULL;
}
