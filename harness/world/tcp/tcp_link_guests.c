/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_link_guests.c - what a member hears of guests, and what a guest hears (world.G5). */
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/world/tcp/tcp_link.h"
#include "harness/world/tcp/tcp_link_state.h"
#include "harness/world/world.h"

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

void link_take_of_guests(struct tcp_link *l, const struct tcp_message *m)
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

void link_beat(struct tcp_link *l)
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

void link_free_guests(struct tcp_link *l)
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
