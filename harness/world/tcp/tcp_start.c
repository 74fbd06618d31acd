/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_start.c - how the world of a gang begins and ends. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/hold.h"
#include "harness/base/terminal.h"
#include "harness/world/host_load.h"
#include "harness/world/process/process_cores.h"
#include "harness/world/tcp/launch.h"
#include "harness/world/tcp/tcp_world.h"

_Static_assert(TCP_PLACE_BYTES == 24 + HOST_KERNEL_BYTES, "three namespaces and a kernel");

/* Ranks for which all of it is equal are on one host: a host may be a container, or a network namespace. */
static void own_place(unsigned char place[TCP_PLACE_BYTES])
{
    char kernel[HOST_KERNEL_BYTES];

    memset(kernel, 0, sizeof kernel);
    host_kernel_id(kernel, "");
    bytes_put(place, host_namespace_id("pid"), 8);
    bytes_put(place + 8, host_namespace_id("ipc"), 8);
    bytes_put(place + 16, host_namespace_id("net"), 8);
    memcpy(place + 24, kernel, sizeof kernel);
}

/* The IPv4 address of the host in gang->root; out stays as it is where there is none. */
static void root_address(const struct gang *gang, char out[HOST_ADDRESS_BYTES])
{
    char host[GANG_ADDRESS_BYTES];
    struct in_addr address;
    uint16_t port;

    if (gang_split_address(gang->root, host, &port) && gang_find_host(&address, host) == RC_OK)
        (void)inet_ntop(AF_INET, &address, out, HOST_ADDRESS_BYTES);
}

void tcp_leave_loopback(const struct gang *gang, char address[HOST_ADDRESS_BYTES])
{
    char host[GANG_ADDRESS_BYTES], other[HOST_ADDRESS_BYTES];
    uint16_t port;

    if (host_address_is_loopback(address) && gang_split_address(gang->root, host, &port) && !gang_is_loopback(host) &&
        host_address(other, NULL) == RC_OK)
        memcpy(address, other, sizeof other);
}

static enum rc join_gang(struct tcp_rank *self, const struct world_opts *opts)
{
    unsigned char place[TCP_PLACE_BYTES];
    struct tcp_link_opts link = { .gang = &self->gang,
                                  .on_loss = opts->on_loss,
                                  .fd = -1,
                                  .failure_exit_code = self->failure_exit_code,
                                  .ends_no_process = self->ends_no_process || opts->watch_clock,
                                  .place = place };
    enum rc rc;

    own_place(place);
    self->host_of = calloc((size_t)self->gang.n_ranks, sizeof *self->host_of);
    if (!self->host_of)
        FAIL(RC_NOMEM, "no memory for a run of %d processes", self->gang.n_ranks);
    if (self->rank == 0)
        TRY(tcp_hub_open(&self->hub, &self->gang, opts->on_loss, &link.fd));
    TRY(tcp_link_open(&self->link, &link, self->host_of));
    hold_at("joined", self->rank, 0);
    if (self->rank == 0) {
        root_address(&self->gang, self->address);
        tcp_leave_loopback(&self->gang, self->address);
        tcp_hub_reached_address(self->hub, self->address);
    } else
        tcp_link_own_address(self->link, self->address);
out:
    return rc;
}

/* What rank 0 tells of its host. */
struct host_of_0 {
    char kernel[HOST_KERNEL_BYTES], address[HOST_ADDRESS_BYTES];
};

/* One clock: hosts that are namespaces of one system have it anyway. And one address: ranks beside rank 0 came to it by
 * the loopback, where the host's name means that. Collective. */
static enum rc agree_on_host(struct tcp_world *t, int64_t measured_ns)
{
    struct tcp_rank *self = t->self;
    struct host_of_0 own = { .kernel = "" }, of_0;
    enum rc rc;

    host_kernel_id(own.kernel, "");
    memcpy(own.address, self->address, sizeof own.address);
    of_0 = own;
    TRY(world_broadcast(&t->base, &of_0, sizeof of_0));
    self->offset_ns = own.kernel[0] != '\0' && strcmp(own.kernel, of_0.kernel) == 0 ? 0 : measured_ns;
    if (self->host_of[self->rank] == 0 && host_address_is_loopback(self->address))
        memcpy(self->address, of_0.address, sizeof self->address);
out:
    return rc;
}

static enum rc agree_on_memory(struct world *w, bool is_ready)
{
    (void)w; /* the run fails with this rank */
    return is_ready ? RC_OK : rc_raise(RC_NOMEM, "no memory for the cores of this host");
}

static enum rc gather_on_host(struct world *w, const void *in, void *out, size_t n_bytes_each)
{
    return world_allgather(tcp_world_of(w)->self->host_part, in, out, n_bytes_each);
}

static enum rc bind_cores(struct tcp_world *t, const struct world_opts *opts)
{
    static const struct process_host host = { agree_on_memory, gather_on_host };
    enum rc rc;

    TRY(world_split(&t->base, t->base.host_first_rank, t->base.rank, &t->self->host_part));
    TRY(process_cores_bind(&t->base, opts, &host));
out:
    world_split_close(&t->self->host_part);
    return rc;
}

static bool is_server(const struct tcp_rank *self)
{
    return self->rank >= self->gang.n_ranks - self->gang.n_servers;
}

static enum rc begin_watch(struct tcp_world *t, const struct world_opts *opts)
{
    enum rc rc = RC_OK;

    if (opts->on_loss == ON_LOSS_REPORT) {
        t->base.on_loss = opts->on_loss;
        TRY(peer_losses_open(&t->base.losses, t->base.n_ranks + opts->n_guests));
        t->base.n_guests = opts->n_guests;
        tcp_link_watch_guests(t->self->link, t->base.losses, t->base.n_ranks, is_server(t->self));
    }
    if (opts->stall.abort_ns > 0)
        TRY(process_peers_open(&t->self->peers, &t->base, opts, t->self->failure_exit_code));
    if (opts->on_loss == ON_LOSS_REPORT)
        tcp_hub_watch(t->self->hub, t->base.peers->seat, t->base.losses);
    TRY(tcp_begin(&t->base));
    t->self->has_begun = true;
out:
    return rc;
}

/* Are there ranks on other hosts, or may guests come from there? */
static bool is_beyond_host(const struct tcp_world *t, const struct world_opts *opts)
{
    return t->base.n_host_ranks < t->base.n_ranks ||
           (opts->n_guests > 0 && t->self->address[0] != '\0' && !host_address_is_loopback(t->self->address));
}

enum rc tcp_world_open(struct tcp_world *t, struct tcp_rank *self, const struct world_opts *opts, int n_ranks)
{
    const struct gang *gang = &self->gang;
    int64_t measured_ns = 0;
    enum rc rc;

    if (opts->on_loss == ON_LOSS_REPORT && opts->stall.abort_ns == 0)
        FAIL(RC_UNSUPPORTED, "world tcp: nobody notices a lost rank without a limit for its silence");
    TRY(gang_read(&self->gang));
    gang_forget_key();
    if (gang->has_launcher)
        self->gang.news = gang_watch_launcher(gang->n_ranks);
    if (self->limit_ns > 0 && 1e-9 * (double)self->limit_ns < gang->start_s)
        self->gang.start_s = 1e-9 * (double)self->limit_ns;
    self->rank = gang->rank;
    self->gang.n_guests = opts->n_guests;
    self->gang.n_servers = opts->n_servers;
    self->gang.identity = opts->identity;
    self->gang.interface = opts->interface;
    self->gang.guest_silence_ns = opts->stall.abort_ns;
    if (n_ranks != 0 && n_ranks != gang->n_ranks)
        FAIL(RC_INVAL, "world tcp: %d ranks were asked for, but the run has %d", n_ranks, gang->n_ranks);
    if (gang->joins)
        return tcp_guest_open(t, self, opts);
    TRY(join_gang(self, opts));
    t->base.rank = self->rank;
    t->base.n_ranks = gang->n_ranks;
    tcp_find_host_ranks(t);
    t->base.n_busy_host_ranks = t->base.n_host_ranks;
    if (self->host_of[self->rank] != 0)
        TRY(tcp_link_clock_offset(self->link, &measured_ns));
    TRY(tcp_link_start(self->link));
    if (opts->agree)
        TRY(opts->agree(&t->base, opts->agree_arg));
    TRY(agree_on_host(t, measured_ns));
    if (is_beyond_host(t, opts) && (!opts->interface || opts->interface[0] == '\0'))
        t->base.interface = self->address;
    TRY(bind_cores(t, opts));
    TRY(begin_watch(t, opts));
out:
    return rc;
}

void tcp_tell_failure(struct tcp_rank *self, enum rc rc)
{
    const char *why;
    int lost;

    if (process_peers_failure(self->peers, &lost, &why))
        tcp_link_fail(self->link, lost, RC_PEER, why);
    else
        tcp_link_fail(self->link, self->rank, rc, rc_message()[0] != '\0' ? rc_message() : rc_text(rc));
}

/* This rank counts as lost, and the run goes on without it (world.W8): it ends as a process that was killed, which is
 * no failure to its launcher. */
static _Noreturn void end_lost(const struct tcp_rank *self)
{
    terminal_note(stderr, "gradmark: rank %d: %s", self->rank, rc_message());
    _exit(128 + SIGKILL);
}

enum rc tcp_raise_failure(const struct tcp_rank *self, enum rc rc)
{
    char why[RC_MESSAGE_BYTES];
    const char *message;
    enum rc code;
    int rank;

    if (rc == RC_OK || !self->link || !tcp_link_failure(self->link, &rank, &code, &message))
        return rc;
    if (code == RC_PEER && rank >= 0 && !self->has_begun) {
        gang_early_loss_text(&self->gang, rank, message, why);
        return rc_raise(code, "%s", why);
    }
    (void)snprintf(why, sizeof why, "%s", message);
    return rank < 0 ? rc_raise(code, "%s", why) : rc_raise(code, "rank %d: %s", rank, why);
}

enum rc tcp_leave(struct world *w)
{
    struct tcp_rank *self = tcp_world_of(w)->self;

    self->has_left = true;
    process_peers_leave(self->peers);
    tcp_link_leave(self->link);
    return RC_OK;
}

enum rc tcp_world_close(struct tcp_world *t, enum rc rc)
{
    struct tcp_rank *self = t->self;

    if (self->gang.joins)
        return tcp_guest_close(t, rc);
    const bool is_started = self->link && tcp_link_is_started(self->link);
    bool are_all;

    if (rc == RC_OK && !self->has_left)
        rc = process_peers_meet_at_end(&t->base, &are_all);
    if (rc != RC_OK && is_started)
        tcp_tell_failure(self, rc);
    if (rc != RC_OK && process_peers_lost_self(self->peers))
        end_lost(self);
    rc = tcp_raise_failure(self, rc);
    tcp_hub_watch(self->hub, NULL, NULL);
    if (rc == RC_OK && !self->has_left)
        process_peers_leave(self->peers);
    else if (rc != RC_OK)
        process_peers_close(&self->peers); /* which has a part of the world: before the connection */
    tcp_link_close(&self->link);
    tcp_hub_close(&self->hub);
    process_peers_close(&self->peers);
    return rc;
}
