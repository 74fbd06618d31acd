/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub_gang.c - how a gang gathers: who connects, who is a member, who is missing (world.G1, G2). */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness/base/bytes.h"
#include "harness/world/process/tcp_socket.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/tcp/tcp_hub_state.h"

/* Within this time a connection says whose it is, or takes the reason why it is refused. */
#define STRANGER_NS UINT64_C(10000000000)
/* Within this time nobody takes the place of who has shown the key; who comes meanwhile waits. */
#define PATIENCE_NS UINT64_C(1000000000)

enum { MAX_NEW = 64, MOST_NAMED = 8 };

static uint64_t limit_ns(const struct tcp_hub *h)
{
    return h->started_ns + (uint64_t)(1e9 * h->gang->start_s);
}

int hub_gather_wait_ms(const struct tcp_hub *h, uint64_t now_ns)
{
    if (h->has_gone || h->has_stopped)
        return -1;
    return now_ns >= limit_ns(h) ? 0 : (int)((limit_ns(h) - now_ns) / 1000000 + 1);
}

/* --- strangers --- */

/* Connections of that address that have not shown the key. */
static int count_keyless(const struct tcp_hub *h, uint32_t from)
{
    int n = 0;

    for (int i = 0; i < HUB_N_STRANGERS; i++)
        n += h->stranger[i].stream && h->stranger[i].from == from && !tcp_stream_has_shown_key(h->stranger[i].stream);
    return n;
}

/* Whose place a new connection gets: of those that have not shown the key, the oldest of the address that has most of
 * them; where all have shown it, the oldest, after some time: who has only recorded a hello comes no further. NULL:
 * nobody's. */
static struct hub_stranger *find_victim(const struct tcp_hub *h, uint64_t now_ns)
{
    struct hub_stranger *oldest = NULL, *keyless = NULL;
    int n_most = 0;

    for (int i = 0; i < HUB_N_STRANGERS; i++) {
        struct hub_stranger *s = &h->stranger[i];
        if (!s->stream)
            continue;
        if (!oldest || s->number < oldest->number)
            oldest = s;
        if (tcp_stream_has_shown_key(s->stream) || (keyless && s->from == keyless->from && s->number > keyless->number))
            continue;
        const int n = count_keyless(h, s->from);
        if (!keyless || n > n_most || (n == n_most && s->number < keyless->number)) {
            keyless = s;
            n_most = n;
        }
    }
    if (keyless)
        return keyless;
    return oldest && now_ns - oldest->came_ns >= PATIENCE_NS ? oldest : NULL;
}

static struct hub_stranger *find_free(const struct tcp_hub *h)
{
    for (int i = 0; i < HUB_N_STRANGERS; i++)
        if (!h->stranger[i].stream)
            return &h->stranger[i];
    return NULL;
}

bool hub_has_place(struct tcp_hub *h, uint64_t now_ns)
{
    return find_free(h) || find_victim(h, now_ns);
}

/* A connection that waits. -1: there is none. Where this process or the system has no file for one more, others than
 * those who have shown the key give up theirs. */
static int accept_one(struct tcp_hub *h, uint64_t now_ns, struct sockaddr_in *from)
{
    const int fd = tcp_socket_accept(h->listening_fd, from);
    struct hub_stranger *victim;

    if (fd < 0 && (errno == EMFILE || errno == ENFILE) && (victim = find_victim(h, now_ns)))
        tcp_stream_close(&victim->stream);
    return fd;
}

static void accept_new(struct tcp_hub *h, uint64_t now_ns)
{
    for (int i = 0; i < MAX_NEW; i++) {
        struct sockaddr_in from = { .sin_family = AF_UNSPEC };
        struct hub_stranger *s = find_free(h), *victim = s ? NULL : find_victim(h, now_ns);
        const int fd = s || victim ? accept_one(h, now_ns, &from) : -1;
        if (fd < 0)
            break;
        if (victim) {
            tcp_stream_close(&victim->stream);
            s = victim;
        }
        *s = (struct hub_stranger){ .came_ns = now_ns, .number = ++h->last_number, .from = from.sin_addr.s_addr };
        if (tcp_stream_open(&s->stream, fd, false, h->gang->key) == RC_OK)
            tcp_stream_limit(s->stream, TCP_HELLO_MOST_BYTES);
        atomic_fetch_add(&h->n_strangers, 1);
    }
}

static void post_stop(struct tcp_stream *s, enum rc code, const char *why)
{
    unsigned char body[4 + RC_MESSAGE_BYTES];
    const size_t n_text = strnlen(why, RC_MESSAGE_BYTES - 1);

    bytes_put(body, (uint32_t)code, 4);
    memcpy(body + 4, why, n_text);
    /* without memory for it the connection ends without a reason */
    (void)!tcp_stream_post(s, &(struct tcp_message){ .type = TCP_STOP, .body = body, .n_bytes = 4 + n_text });
}

/* All members, and whoever came in vain, learn that nothing comes of it (world.G2). */
static void stop_all(struct tcp_hub *h, enum rc code, const char *why)
{
    h->has_stopped = true;
    h->stop_code = code;
    (void)snprintf(h->stop_why, sizeof h->stop_why, "%s", why);
    for (int r = 0; r < h->n_ranks; r++)
        if (h->member[r].stream)
            post_stop(h->member[r].stream, code, why);
}

static void stop_for(struct tcp_hub *h, int rank, const char *reason)
{
    char why[RC_MESSAGE_BYTES];

    gang_early_loss_text(h->gang, rank, reason, why);
    stop_all(h, RC_PEER, why);
}

void hub_stop_for_loss(struct tcp_hub *h, int rank)
{
    stop_for(h, rank, GANG_LOSS_WHY);
}

/* --- members --- */

/* What a hello says that this gang cannot be; false: nothing. is_fatal: with that it never will be. */
static bool find_fault(const struct tcp_hub *h, const struct tcp_message *m, const char *members, char *why,
                       bool *is_fatal)
{
    const uint64_t rank = bytes_get(m->body, 4), n_ranks = bytes_get(m->body + 4, 4);
    char name[GANG_ADDRESS_BYTES + 32];

    *is_fatal = true;
    if (rank >= (uint64_t)h->n_ranks || n_ranks != (uint64_t)h->n_ranks) {
        snprintf(why, RC_MESSAGE_BYTES, "rank %u of %u does not belong to the %d ranks of worker 0 at %s",
                 (unsigned)rank, (unsigned)n_ranks, h->n_ranks, h->gang->root);
        return true;
    }
    gang_member_text(h->gang, (int)rank, name, sizeof name);
    if (strcmp(members, h->gang->text) != 0) {
        snprintf(why, RC_MESSAGE_BYTES, "%.100s was told of other members: %.120s, and rank 0 of %.120s", name, members,
                 h->gang->text);
        return true;
    }
    if (bytes_get(m->body + 8, 4) != (uint64_t)h->on_loss) {
        snprintf(why, RC_MESSAGE_BYTES, "%.200s has another --on-loss than rank 0", name);
        return true;
    }
    *is_fatal = false;
    snprintf(why, RC_MESSAGE_BYTES, "%.200s is there already: two processes have the same task", name);
    return h->member[rank].stream != NULL;
}

static void admit(struct tcp_hub *h, struct hub_stranger *s, const struct tcp_message *m)
{
    struct hub_member *member = &h->member[bytes_get(m->body, 4)];

    member->stream = s->stream;
    s->stream = NULL;
    memcpy(member->place, m->body + 12, TCP_PLACE_BYTES);
    tcp_stream_limit(member->stream, TCP_MOST_BYTES);
    atomic_fetch_sub(&h->n_strangers, 1);
}

/* false: its connection is to be closed. */
static bool greet(struct tcp_hub *h, struct hub_stranger *s, const struct tcp_message *m)
{
    char why[RC_MESSAGE_BYTES], *members;
    bool is_fatal;

    if (m->type != TCP_HELLO || m->n_bytes < TCP_HELLO_FIXED_BYTES || s->is_refused)
        return false;
    if (bytes_get(m->body, 4) == TCP_GUEST_RANK) {
        if (hub_admit_guest(h, s, wait_clock_ns(), why))
            return true;
        s->is_refused = true;
        post_stop(s->stream, RC_MISMATCH, why);
        return true;
    }
    members = strndup((const char *)m->body + TCP_HELLO_FIXED_BYTES, m->n_bytes - TCP_HELLO_FIXED_BYTES);
    if (!members)
        return false;
    const bool has_fault = find_fault(h, m, members, why, &is_fatal);
    free(members);
    if (!has_fault && !h->has_stopped) {
        admit(h, s, m);
        return true;
    }
    s->is_refused = true;
    if (has_fault && is_fatal && !h->has_gone && !h->has_stopped)
        stop_all(h, RC_MISMATCH, why);
    if (has_fault)
        post_stop(s->stream, RC_MISMATCH, why);
    else
        post_stop(s->stream, h->stop_code, h->stop_why); /* it comes too late */
    return true;
}

static void tend_stranger(struct tcp_hub *h, struct hub_stranger *s, uint64_t now_ns)
{
    struct tcp_message m;
    bool stays = tcp_stream_tend(s->stream) == RC_OK && now_ns - s->came_ns < STRANGER_NS;

    while (stays && s->stream && tcp_stream_take(s->stream, &m)) {
        stays = greet(h, s, &m);
        free(m.body);
    }
    if (stays && s->stream && tcp_stream_has_to_send(s->stream))
        stays = tcp_stream_tend(s->stream) == RC_OK;
    if (!stays)
        tcp_stream_close(&s->stream);
}

/* --- all are there, or not --- */

static bool are_all_here(const struct tcp_hub *h)
{
    for (int r = 0; r < h->n_ranks; r++)
        if (!h->member[r].stream)
            return false;
    return true;
}

static void find_hosts(struct tcp_hub *h)
{
    for (int r = 0; r < h->n_ranks; r++)
        for (h->member[r].host = 0;
             memcmp(h->member[h->member[r].host].place, h->member[r].place, TCP_PLACE_BYTES) != 0;)
            h->member[r].host++;
}

/* By the first rank of another host. A gateway that translates addresses has put this host's own in place already. */
static void find_address(struct tcp_hub *h)
{
    char text[HOST_ADDRESS_BYTES] = "";
    struct sockaddr_in at;
    socklen_t n_bytes = sizeof at;

    for (int r = 0; r < h->n_ranks && text[0] == '\0'; r++)
        if (h->member[r].host != 0 &&
            getsockname(tcp_stream_fd(h->member[r].stream), (struct sockaddr *)&at, &n_bytes) == 0 &&
            at.sin_family == AF_INET)
            (void)inet_ntop(AF_INET, &at.sin_addr, text, sizeof text);
    pthread_mutex_lock(&h->lock);
    memcpy(h->address, text, sizeof text);
    pthread_mutex_unlock(&h->lock);
}

static void go(struct tcp_hub *h, uint64_t now_ns)
{
    const size_t n_bytes = 4 * (size_t)h->n_ranks;
    unsigned char *body = malloc(n_bytes);

    h->has_gone = true;
    h->gone_ns = now_ns;
    if (!body) {
        hub_fail(h, -1, RC_NOMEM, "no memory for the hosts of all ranks");
        return;
    }
    find_hosts(h);
    find_address(h);
    for (int r = 0; r < h->n_ranks; r++)
        bytes_put(body + 4 * (size_t)r, (uint64_t)h->member[r].host, 4);
    for (int r = 0; r < h->n_ranks; r++)
        hub_post(h, r, &(struct tcp_message){ .type = TCP_GO, .body = body, .n_bytes = n_bytes });
    free(body);
}

/* Has the process of a rank that is not here ended? -1: of none. */
static int find_ended(const struct tcp_hub *h)
{
    for (int r = 0; r < h->n_ranks; r++)
        if (!h->member[r].stream && launch_has_ended(h->gang->news, r))
            return r;
    return -1;
}

/* Who is missing, by job, task and address. */
static void give_up(struct tcp_hub *h)
{
    char why[RC_MESSAGE_BYTES], name[GANG_ADDRESS_BYTES + 32];
    int n_missing = 0;
    size_t n = (size_t)snprintf(why, sizeof why, "not there after %.3g s:", h->gang->start_s);

    for (int r = 0; r < h->n_ranks; r++) {
        if (h->member[r].stream || n_missing++ >= MOST_NAMED || n >= sizeof why)
            continue;
        gang_member_text(h->gang, r, name, sizeof name);
        n += (size_t)snprintf(why + n, sizeof why - n, "%s %s", n_missing > 1 ? "," : "", name);
    }
    if (n_missing > MOST_NAMED && n < sizeof why)
        (void)snprintf(why + n, sizeof why - n, " and %d more", n_missing - MOST_NAMED);
    stop_all(h, RC_TIMEOUT, why);
}

/* Is there a rank, between TCP_GO and TCP_BEGIN, for which others wait, and which waits for none? Where no world has a
 * call under way all are at work. -1: there is none. */
static int find_silent(const struct tcp_hub *h)
{
    bool *waits = calloc((size_t)h->n_ranks, sizeof *waits);
    int n_waiting = 0, silent = -1;

    if (!waits)
        return -1;
    for (const struct hub_world *w = h->worlds; w; w = w->next)
        for (int i = 0; i < w->n_ranks; i++)
            if (w->call.has[i] || w->survivors.has[i]) {
                waits[w->number[i]] = true;
                n_waiting++;
            }
    for (int r = 0; n_waiting > 0 && r < h->n_ranks && silent < 0; r++)
        silent = waits[r] ? -1 : r;
    free(waits);
    return silent;
}

void hub_check_opening(struct tcp_hub *h, uint64_t now_ns)
{
    const uint64_t limit_ns = (uint64_t)(1e9 * h->gang->start_s) + TCP_GRACE_NS;
    char why[RC_MESSAGE_BYTES];

    if (!h->has_gone || h->has_begun || h->has_failed || now_ns - h->gone_ns < limit_ns)
        return;
    const int silent = find_silent(h);
    if (silent < 0)
        return;
    (void)snprintf(why, sizeof why, TCP_SILENT_WHY, 1e-9 * (double)limit_ns);
    hub_fail(h, silent, RC_PEER, why);
}

void hub_gather(struct tcp_hub *h, uint64_t now_ns)
{
    accept_new(h, now_ns);
    for (int i = 0; i < HUB_N_STRANGERS; i++)
        if (h->stranger[i].stream)
            tend_stranger(h, &h->stranger[i], now_ns);
    if (h->has_gone || h->has_stopped)
        return;
    const int ended = find_ended(h);
    if (are_all_here(h))
        go(h, now_ns);
    else if (ended >= 0)
        stop_for(h, ended, GANG_END_WHY);
    else if (now_ns >= limit_ns(h))
        give_up(h);
}
