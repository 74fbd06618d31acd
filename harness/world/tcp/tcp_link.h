/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcp_link.h - the connection of a rank with the hub (tcp_protocol.h), and the thread that tends it. So the rank
 * receives messages of the hub whatever it does meanwhile. Private to harness/world/tcp.
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
    int failure_exit_code;       /* if this process does not end by itself after a failure */
    bool ends_no_process;        /* such a process is not ended */
    const unsigned char *place;  /* [TCP_PLACE_BYTES] */
    struct tcp_message *welcome; /* late joiner: receives the data of its welcome; the caller frees its body; else
                                    NULL */
};

/* Connects, is admitted, and waits for the whole group. Then sets host_of[n_ranks]: the lowest rank of each rank's
 * host. Takes opts->fd. Ends within gang->start_s and some seconds. Errors: RC_TIMEOUT if members are missing (named);
 * RC_PEER, RC_MISMATCH if rank 0 refuses this process, or is not a gradmark of this run; RC_NOMEM, RC_IO. */
enum rc tcp_link_open(struct tcp_link **out, const struct tcp_link_opts *opts, int *host_of) MUST_CHECK;
/* The offset from this host's clock to the hub's, from the shortest of some round trips. Call before tcp_link_start().
 * RC_PEER. */
enum rc tcp_link_clock_offset(struct tcp_link *l, int64_t *out_ns) MUST_CHECK;
/* The IPv4 address of this host at the connection; "": none. out[HOST_ADDRESS_BYTES] */
void tcp_link_own_address(const struct tcp_link *l, char *out);
/* Starts the thread that tends it. RC_NOMEM. */
enum rc tcp_link_start(struct tcp_link *l) MUST_CHECK;

bool tcp_link_is_started(const struct tcp_link *l);

/* --- once started --- */

/* RC_PEER once the run has failed, and names the rank. Cheap; any thread. */
enum rc tcp_link_check(const struct tcp_link *l) MUST_CHECK;
/* This rank has failed; informs the other ranks. Any thread. */
void tcp_link_fail(struct tcp_link *l, int rank, enum rc why, const char *message);
/* Sends a copy, without waiting. Any thread. RC_NOMEM; RC_PEER: the hub is gone. */
enum rc tcp_link_post(struct tcp_link *l, const struct tcp_message *m) MUST_CHECK;
/* Waits at most limit_ns for the result of call `number`. The caller frees the body of *out. *has_come: it has
 * arrived. */
void tcp_link_await(struct tcp_link *l, uint64_t number, uint64_t limit_ns, struct tcp_message *out, bool *has_come);
/* The first failure of the run that this rank knows of, including its own. false: none. */
bool tcp_link_failure(const struct tcp_link *l, int *rank, enum rc *why, const char **message);
/* --- late joiners (world.G5) --- */

/* For a member: enters losses of late joiners in losses, as ranks n_ranks and above. is_host: this rank learns of each
 * late joiner. */
void tcp_link_watch_guests(struct tcp_link *l, struct peer_losses *losses, int n_ranks, bool is_host);
/* The next late joiner that has entered. *bytes is lent until the next call, which confirms to the hub that it is
 * known. */
bool tcp_link_next_guest(struct tcp_link *l, int *guest, const unsigned char **bytes, size_t *n_bytes);
/* For a late joiner: enters losses of the n_ranks members in losses, including those that came right after its welcome.
 */
void tcp_link_watch_members(struct tcp_link *l, struct peer_losses *losses, int n_ranks);
/* For a late joiner: seat is its own. From now on its ticks are sent to the hub, and it shows the stop of the run.
 * NULL: no more. */
void tcp_link_beat(struct tcp_link *l, struct peer_seat *seat);
/* For a late joiner: do all hosts know of it? */
bool tcp_link_is_ready(struct tcp_link *l);

/* This rank leaves before the other ranks: informs the hub, and ignores the further run. */
void tcp_link_leave(struct tcp_link *l);
/* All work is done: informs the hub, and closes. Waits some seconds at most until that is sent. NULL-safe, nulls. */
void tcp_link_close(struct tcp_link **l);

#endif
