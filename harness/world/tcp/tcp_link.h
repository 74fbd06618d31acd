/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_link.h - the connection of a rank with the hub (tcp_protocol.h), and the thread that tends it: what the hub says
 * is heard whatever the rank does. Private to harness/world/tcp.
 */
#ifndef HARNESS_WORLD_TCP_TCP_LINK_H
#define HARNESS_WORLD_TCP_TCP_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"
#include "harness/world/peers.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/tcp_protocol.h"
#include "harness/world/tcp/tcp_stream.h"

struct tcp_link;

struct tcp_link_opts {
    const struct gang *gang; /* borrowed until open returns */
    enum on_loss on_loss;
    int fd;                      /* to the hub of this process; -1: connect to gang->root */
    int failure_exit_code;       /* of a process that does not end by itself after a failure */
    bool ends_no_process;        /* such a process is left alone */
    const unsigned char *place;  /* [TCP_PLACE_BYTES] */
    struct tcp_message *welcome; /* of a guest: what it is told; its body is the caller's to free; else NULL */
};

/* Connect, be admitted, and wait for the whole gang; then host_of[n_ranks] is set: the lowest rank of each one's host.
 * Takes opts->fd. Ends within gang->start_s and some seconds. RC_TIMEOUT: members are missing, which it names; RC_PEER,
 * RC_MISMATCH: rank 0 refuses this process, or is no gradmark of this run; RC_NOMEM, RC_IO. */
enum rc tcp_link_open(struct tcp_link **out, const struct tcp_link_opts *opts, int *host_of) MUST_CHECK;
/* What to add to this host's clock to read that of the hub's, from the shortest of some round trips; before
 * tcp_link_start(). RC_PEER. */
enum rc tcp_link_clock_offset(struct tcp_link *l, int64_t *out_ns) MUST_CHECK;
/* The IPv4 address of this host at the connection; "": it has none. out[HOST_ADDRESS_BYTES] */
void tcp_link_own_address(const struct tcp_link *l, char *out);
/* From now on a thread tends it. RC_NOMEM. */
enum rc tcp_link_start(struct tcp_link *l) MUST_CHECK;

bool tcp_link_is_started(const struct tcp_link *l);

/* --- once started --- */

/* RC_PEER once the run has failed, and names the rank. Cheap; any thread. */
enum rc tcp_link_check(const struct tcp_link *l) MUST_CHECK;
/* This rank has failed; the others are told. Any thread. */
void tcp_link_fail(struct tcp_link *l, int rank, enum rc why, const char *message);
/* Send without waiting for it; a copy. Any thread. RC_NOMEM; RC_PEER: the hub is gone. */
enum rc tcp_link_post(struct tcp_link *l, const struct tcp_message *m) MUST_CHECK;
/* Wait at most limit_ns for the result of call `number`; *out: the caller frees its body. *has_come: it has. */
void tcp_link_await(struct tcp_link *l, uint64_t number, uint64_t limit_ns, struct tcp_message *out, bool *has_come);
/* The first failure of the run that this rank knows of, its own too. false: there is none. */
bool tcp_link_failure(const struct tcp_link *l, int *rank, enum rc *why, const char **message);
/* --- guests (G5): tcp_link_guests.c --- */

/* Of a member: their losses are entered in losses, as ranks n_ranks and more; is_host: it is told of each. */
void tcp_link_watch_guests(struct tcp_link *l, struct peer_losses *losses, int n_ranks, bool is_host);
/* The next one that has entered; *bytes: lent until the next call, with which the hub is told that it is known. */
bool tcp_link_next_guest(struct tcp_link *l, int *guest, const unsigned char **bytes, size_t *n_bytes);
/* Of a guest: losses of the n_ranks members are entered in losses, from those on that it is told of behind its welcome.
 */
void tcp_link_watch_members(struct tcp_link *l, struct peer_losses *losses, int n_ranks);
/* Of a guest: seat is its own, whose ticks the hub is told from now on, and where the run's stop is shown; NULL: no
 * more. */
void tcp_link_beat(struct tcp_link *l, struct peer_seat *seat);
/* Likewise: do all hosts know of it? */
bool tcp_link_is_ready(struct tcp_link *l);

/* This rank leaves before the others: say so; what becomes of the run is nothing to it any more. */
void tcp_link_leave(struct tcp_link *l);
/* All is done: say so, and close; waits until it is said, some seconds at most. NULL-safe, nulls. */
void tcp_link_close(struct tcp_link **l);

#endif
