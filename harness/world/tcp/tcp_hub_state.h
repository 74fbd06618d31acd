/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub_state.h - the state that the files of the hub share. Private to them. Only the hub's thread may access it,
 * except what is under `lock`. */
#ifndef HARNESS_WORLD_TCP_TCP_HUB_STATE_H
#define HARNESS_WORLD_TCP_TCP_HUB_STATE_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "harness/world/tcp/tcp_hub.h"
#include "harness/world/tcp/tcp_protocol.h"
#include "harness/world/tcp/tcp_stream.h"
#include "harness/world/wait.h"

enum { HUB_N_STRANGERS = 128 };

struct hub_member {
    struct tcp_stream *stream; /* NULL: not connected yet, or not any more */
    bool has_left;             /* TCP_LEAVE */
    bool is_lost;              /* and late joiners have been informed (world.G6) */
    unsigned char place[TCP_PLACE_BYTES];
    int host; /* the lowest rank at the same place */
};

struct hub_stranger {
    struct tcp_stream *stream; /* NULL: none */
    uint64_t came_ns, number;  /* in the order of arrival */
    uint32_t from;             /* its IPv4 address; 0: rank 0 itself */
    bool is_refused;           /* it has been informed of that */
};

struct hub_guest {             /* world.G5 */
    struct tcp_stream *stream; /* NULL: not connected yet, or not any more */
    bool has_come, is_welcome, has_entered, has_left;
    bool is_halted, is_ready;
    unsigned char *hosted; /* [n_ranks]: hosts that know of it */
    uint64_t n_ticks, ticked_ns;
};

struct hub_call { /* in progress in a world */
    int n_came;
    enum tcp_operation operation;
    uint64_t n_bytes_each;
    int first;                 /* rank that called first; other calls must agree with it */
    unsigned char *has;        /* [n_ranks] */
    uint64_t *number;          /* [n_ranks]: of the rank's call */
    struct tcp_message *input; /* [n_ranks] */
};

struct hub_world {
    uint32_t id;
    int n_ranks, n_users;
    int *number; /* [n_ranks]: the number in the run */
    struct hub_call call, survivors;
    struct hub_world *next;
};

struct tcp_hub {
    const struct gang *gang;
    int n_ranks;
    enum on_loss on_loss;
    int listening_fd, wake_fd;
    struct hub_member *member; /* [n_ranks] */
    struct hub_guest *guest;   /* [gang->n_guests] */
    struct tcp_message doors;  /* data of rank 0 for late joiners; body NULL: closed */
    bool has_doors;
    struct hub_stranger *stranger; /* [HUB_N_STRANGERS] */
    struct pollfd *polled;         /* room for all connections */
    uint64_t started_ns, gone_ns, last_number;
    bool has_gone, has_stopped; /* world.G2 */
    enum rc stop_code;          /* with has_stopped */
    char stop_why[RC_MESSAGE_BYTES];
    bool has_begun;  /* TCP_BEGIN */
    bool has_failed; /* world.G4 */
    struct hub_world *worlds;
    uint32_t last_id;
    atomic_ullong n_strangers;
    atomic_bool is_over;
    pthread_mutex_t lock;             /* protects the next three members */
    char address[HOST_ADDRESS_BYTES]; /* tcp_hub_reached_address(); "": unknown */
    struct peer_seat *seat;           /* NULL: not watched */
    const struct peer_losses *losses; /* NULL: likewise */
    pthread_t thread;
};

/* --- tcp_hub.c --- */

/* Posts m to a member; does nothing if it is not connected. An error of its connection shows when it is tended. */
void hub_post(struct tcp_hub *h, int rank, const struct tcp_message *m);
/* The run has failed (world.G4): informs every member except `rank`. */
void hub_fail(struct tcp_hub *h, int rank, enum rc code, const char *why);
/* Is rank lost, and why? why[RC_MESSAGE_BYTES] */
bool hub_is_lost(struct tcp_hub *h, int rank, char *why);

/* --- tcp_hub_gang.c --- */

/* Fails the run if a rank is silent after TCP_GO (world.G7). */
void hub_check_opening(struct tcp_hub *h, uint64_t now_ns);
/* Handles new connections and messages of strangers; checks whether every member is present or time is up. */
void hub_gather(struct tcp_hub *h, uint64_t now_ns);
/* Is there room now for one more stranger? */
bool hub_has_place(struct tcp_hub *h, uint64_t now_ns);
/* The connection of a member has ended before TCP_GO: informs every member (world.G4). */
void hub_stop_for_loss(struct tcp_hub *h, int rank);
/* Milliseconds until hub_gather() must be called again even without an event; -1: no need. */
int hub_gather_wait_ms(const struct tcp_hub *h, uint64_t now_ns);

/* --- tcp_hub_guests.c --- */

/* RC_NOMEM. */
enum rc hub_guests_open(struct tcp_hub *h) MUST_CHECK;
void hub_guests_close(struct tcp_hub *h);
/* Assigns a number to the late joiner on this connection, and takes the connection. false: no number; says why. */
bool hub_admit_guest(struct tcp_hub *h, struct hub_stranger *s, uint64_t now_ns, char *why);
/* Takes a message of rank 0 or a host about late joiners. RC_MISMATCH. Takes m->body of TCP_DOORS. */
enum rc hub_take_of_guests(struct tcp_hub *h, int rank, struct tcp_message *m) MUST_CHECK;
/* Handles messages of late joiners, their losses and their stops. */
void hub_tend_guests(struct tcp_hub *h, uint64_t now_ns);
void hub_post_to_guests(struct tcp_hub *h, const struct tcp_message *m);
/* A member is lost: informs late joiners, and waits for it no longer (world.G5, G6). */
void hub_tell_guests_of_loss(struct tcp_hub *h, int rank, const char *why);
/* Writes their connections to p; returns the number. */
int hub_poll_guests(const struct tcp_hub *h, struct pollfd *p);

/* --- tcp_hub_calls.c --- */

/* RC_NOMEM */
enum rc hub_worlds_open(struct tcp_hub *h) MUST_CHECK;
void hub_worlds_close(struct tcp_hub *h);
/* Takes a message of a member. Errors: RC_MISMATCH if it breaks the protocol; RC_NOMEM. Takes m->body. */
enum rc hub_call(struct tcp_hub *h, int rank, struct tcp_message *m) MUST_CHECK;
enum rc hub_close_world(struct tcp_hub *h, int rank, const struct tcp_message *m) MUST_CHECK;
/* Answers the calls of worlds that have lost a rank. Before TCP_BEGIN a loss has failed the run (world.G4). */
void hub_answer_losses(struct tcp_hub *h);

#endif
