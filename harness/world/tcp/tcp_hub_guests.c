/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub_guests.c - processes that join the run while it goes on (world.G5). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/tcp/tcp_hub_state.h"

enum { MOST_GUEST_BYTES = 1 << 16 }; /* of one message of a guest, which all members get */
enum { MOST_IDENTITY_BYTES = 1 << 20 };

enum rc hub_guests_open(struct tcp_hub *h)
{
    const int n = h->gang->n_guests;

    h->guest = calloc((size_t)n + 1, sizeof *h->guest);
    for (int g = 0; h->guest && g < n; g++)
        if (!(h->guest[g].hosted = calloc((size_t)h->n_ranks, 1)))
            return rc_raise(RC_NOMEM, "no memory for %d workers that may join", n);
    return h->guest ? RC_OK : rc_raise(RC_NOMEM, "no memory for %d workers that may join", n);
}

void hub_guests_close(struct tcp_hub *h)
{
    for (int g = 0; h->guest && g < h->gang->n_guests; g++) {
        tcp_stream_close(&h->guest[g].stream);
        free(h->guest[g].hosted);
    }
    free(h->guest);
    free(h->doors.body);
}

bool hub_admit_guest(struct tcp_hub *h, struct hub_stranger *s, uint64_t now_ns, char *why)
{
    int g = 0;

    while (g < h->gang->n_guests && h->guest[g].has_come)
        g++;
    if (h->has_failed || h->has_stopped || h->member[0].has_left) {
        (void)snprintf(why, RC_MESSAGE_BYTES, "the run has ended");
        return false;
    }
    if (g == h->gang->n_guests) {
        (void)snprintf(why, RC_MESSAGE_BYTES,
                       g == 0 ? "nobody can join this run: it has no --most-workers above its --workers"
                              : "the %d workers that --most-workers lets join this run have all been there; each joins "
                                "once",
                       g);
        return false;
    }
    h->guest[g].has_come = true;
    h->guest[g].ticked_ns = now_ns;
    h->guest[g].stream = s->stream;
    s->stream = NULL;
    tcp_stream_limit(h->guest[g].stream, MOST_GUEST_BYTES);
    atomic_fetch_sub(&h->n_strangers, 1);
    return true;
}

/* --- what is said --- */

static bool is_host(const struct tcp_hub *h, int rank)
{
    return rank >= h->n_ranks - h->gang->n_servers;
}

static void post(struct hub_guest *guest, const struct tcp_message *m)
{
    if (guest->stream && tcp_stream_post(guest->stream, m) != RC_OK)
        tcp_stream_limit(guest->stream, 0); /* no memory: what comes next ends the connection */
}

void hub_post_to_guests(struct tcp_hub *h, const struct tcp_message *m)
{
    for (int g = 0; h->guest && g < h->gang->n_guests; g++)
        if (h->guest[g].is_welcome)
            post(&h->guest[g], m);
}

/* *out: TCP_LOST in body, of TCP_LOST_FIXED_BYTES + RC_MESSAGE_BYTES */
static void put_loss(struct tcp_message *out, unsigned char *body, int rank, const char *why)
{
    const size_t n_text = strnlen(why, RC_MESSAGE_BYTES - 1);

    bytes_put(body, (uint64_t)rank, 4);
    memcpy(body + TCP_LOST_FIXED_BYTES, why, n_text);
    *out = (struct tcp_message){ .type = TCP_LOST, .body = body, .n_bytes = TCP_LOST_FIXED_BYTES + n_text };
}

/* world.G6 */
static void tell_of_earlier_losses(struct tcp_hub *h, int g)
{
    unsigned char body[TCP_LOST_FIXED_BYTES + RC_MESSAGE_BYTES];
    char why[RC_MESSAGE_BYTES];
    struct tcp_message m;

    for (int r = 0; r < h->n_ranks; r++) {
        if (!h->member[r].is_lost)
            continue;
        put_loss(&m, body, r, hub_is_lost(h, r, why) ? why : GANG_LOSS_WHY);
        post(&h->guest[g], &m);
    }
}

static void welcome(struct tcp_hub *h, int g)
{
    const char *identity = h->gang->identity ? h->gang->identity : "";
    const size_t n_identity = strnlen(identity, MOST_IDENTITY_BYTES),
                 n_bytes = TCP_WELCOME_FIXED_BYTES + n_identity + h->doors.n_bytes;
    unsigned char *body = malloc(n_bytes);

    h->guest[g].is_welcome = true;
    if (!body) {
        tcp_stream_close(&h->guest[g].stream);
        return;
    }
    bytes_put(body, (uint64_t)g, 4);
    bytes_put(body + 4, (uint64_t)h->n_ranks, 4);
    bytes_put(body + 8, n_identity, 4);
    memcpy(body + TCP_WELCOME_FIXED_BYTES, identity, n_identity);
    memcpy(body + TCP_WELCOME_FIXED_BYTES + n_identity, h->doors.body, h->doors.n_bytes);
    post(&h->guest[g], &(struct tcp_message){ .type = TCP_WELCOME, .body = body, .n_bytes = n_bytes });
    free(body);
    tell_of_earlier_losses(h, g);
}

/* To all members. */
static void tell(struct tcp_hub *h, int g, enum tcp_guest_state state, const void *bytes, size_t n_bytes)
{
    unsigned char *body = malloc(TCP_GUEST_FIXED_BYTES + n_bytes);

    if (!body) {
        hub_fail(h, -1, RC_NOMEM, "rank 0 has no memory to tell of a worker that joins");
        return;
    }
    bytes_put(body, (uint64_t)g, 4);
    bytes_put(body + 4, (uint64_t)state, 4);
    if (n_bytes > 0)
        memcpy(body + TCP_GUEST_FIXED_BYTES, bytes, n_bytes);
    for (int r = 0; r < h->n_ranks; r++)
        hub_post(h, r,
                 &(struct tcp_message){ .type = TCP_GUEST, .body = body, .n_bytes = TCP_GUEST_FIXED_BYTES + n_bytes });
    free(body);
}

/* If all hosts that are left know of it (world.G5). */
static void make_ready(struct tcp_hub *h, int g)
{
    struct hub_guest *guest = &h->guest[g];

    for (int r = 0; r < h->n_ranks; r++)
        if (is_host(h, r) && !guest->hosted[r] && !h->member[r].is_lost)
            return;
    if (!guest->is_ready)
        post(guest, &(struct tcp_message){ .type = TCP_READY });
    guest->is_ready = true;
}

void hub_tell_guests_of_loss(struct tcp_hub *h, int rank, const char *why)
{
    unsigned char body[TCP_LOST_FIXED_BYTES + RC_MESSAGE_BYTES];
    struct tcp_message m;

    put_loss(&m, body, rank, why);
    hub_post_to_guests(h, &m);
    for (int g = 0; g < h->gang->n_guests; g++)
        if (h->guest[g].has_entered)
            make_ready(h, g);
}

enum rc hub_take_of_guests(struct tcp_hub *h, int rank, struct tcp_message *m)
{
    if (m->type == TCP_DOORS) {
        if (rank != 0 || h->has_doors)
            return rc_raise(RC_MISMATCH, "a message of type %u of rank %d", m->type, rank);
        h->doors = *m;
        h->has_doors = true;
        m->body = NULL;
        return RC_OK;
    }
    const uint64_t g = m->n_bytes == 4 ? bytes_get(m->body, 4) : UINT64_MAX;
    if (g >= (uint64_t)h->gang->n_guests || !h->guest[g].has_entered || !is_host(h, rank) || h->guest[g].hosted[rank])
        return rc_raise(RC_MISMATCH, "rank %d knows a worker that has not joined", rank);
    h->guest[g].hosted[rank] = 1;
    make_ready(h, (int)g);
    return RC_OK;
}

static enum rc take(struct tcp_hub *h, int g, const struct tcp_message *m, uint64_t now_ns)
{
    struct hub_guest *guest = &h->guest[g];
    unsigned char now[8];

    switch (m->type) {
    case TCP_ENTER:
        if (guest->has_entered || !guest->is_welcome)
            break;
        guest->has_entered = true;
        tell(h, g, TCP_GUEST_CAME, m->body, m->n_bytes);
        return RC_OK;
    case TCP_BEAT:
        if (m->n_bytes != 8)
            break;
        if (bytes_get(m->body, 8) != guest->n_ticks)
            guest->ticked_ns = now_ns;
        guest->n_ticks = bytes_get(m->body, 8);
        return RC_OK;
    case TCP_PING:
        bytes_put(now, wait_clock_ns(), sizeof now);
        post(guest, &(struct tcp_message){ .type = TCP_PONG, .number = m->number, .body = now, .n_bytes = sizeof now });
        return RC_OK;
    case TCP_LEAVE:
        guest->has_left = true;
        return RC_OK;
    default:
        break;
    }
    return rc_raise(RC_MISMATCH, "a message of type %u of a guest", m->type);
}

/* --- their connections --- */

static void lose(struct tcp_hub *h, int g, enum tcp_guest_state state)
{
    struct hub_guest *guest = &h->guest[g];

    tcp_stream_close(&guest->stream);
    if (!guest->has_entered) { /* nobody knows of it: the next one may have its number */
        guest->has_come = guest->is_welcome = guest->is_halted = guest->has_left = false;
        guest->n_ticks = 0;
    } else
        tell(h, g, guest->has_left ? TCP_GUEST_LEFT : state, NULL, 0);
}

static void tend_guest(struct tcp_hub *h, int g, uint64_t now_ns)
{
    struct hub_guest *guest = &h->guest[g];
    struct tcp_message m;
    enum rc rc;

    if (h->has_doors && !guest->is_welcome)
        welcome(h, g);
    if (!guest->stream)
        return;
    rc = tcp_stream_tend(guest->stream);
    while (rc == RC_OK && tcp_stream_take(guest->stream, &m)) {
        rc = take(h, g, &m, now_ns);
        free(m.body);
    }
    if (rc == RC_OK && tcp_stream_has_to_send(guest->stream))
        rc = tcp_stream_tend(guest->stream);
    if (rc != RC_OK)
        lose(h, g, TCP_GUEST_LOST);
    else if (guest->has_entered && h->gang->guest_silence_ns > 0 &&
             now_ns - guest->ticked_ns > h->gang->guest_silence_ns)
        lose(h, g, TCP_GUEST_SILENT);
}

/* The signal for which the run stops; 0: none. */
static int halt_signal(struct tcp_hub *h)
{
    int number = 0;

    pthread_mutex_lock(&h->lock);
    if (h->seat)
        number = atomic_load(&h->seat[0].stop_signal);
    pthread_mutex_unlock(&h->lock);
    return number;
}

void hub_tend_guests(struct tcp_hub *h, uint64_t now_ns)
{
    const int number = h->gang->n_guests > 0 ? halt_signal(h) : 0;
    unsigned char body[4];

    bytes_put(body, (uint32_t)number, 4);
    for (int g = 0; g < h->gang->n_guests; g++) {
        struct hub_guest *guest = &h->guest[g];
        if (guest->stream && number != 0 && !guest->is_halted) {
            guest->is_halted = true;
            post(guest, &(struct tcp_message){ .type = TCP_HALT, .body = body, .n_bytes = sizeof body });
        }
        if (guest->stream)
            tend_guest(h, g, now_ns);
    }
}

int hub_poll_guests(const struct tcp_hub *h, struct pollfd *p)
{
    int n = 0;

    for (int g = 0; g < h->gang->n_guests; g++) {
        const struct tcp_stream *s = h->guest[g].stream;
        if (s)
            p[n++] = (struct pollfd){ .fd = tcp_stream_fd(s),
                                      .events = (short)(tcp_stream_has_to_send(s) ? POLLIN | POLLOUT : POLLIN) };
    }
    return n;
}
