/* SPDX-License-Identifier: Apache-2.0 */
/* tcp_hub_state.h - what the files of the hub share. Private to them; all of it is the hub's thread's, but what is
 * under `lock`. */
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
    struct tcp_stream *stream; /* NULL: not there yet, or not any more */
    bool has_left;             /* TCP_LEAVE */
    bool is_lost;              /* which guests were told (G6) */
    unsigned char place[TCP_PLACE_BYTES];
    int host; /* the lowest rank at the same place */
};

struct hub_stranger {
    struct tcp_stream *stream; /* NULL: none */
    uint64_t came_ns, number;  /* in the order in which they came */
    uint32_t from;             /* its IPv4 address; 0: rank 0 itself */
    bool is_refused;           /* it was told so */
};

struct hub_guest {             /* G5 */
    struct tcp_stream *stream; /* NULL: not there yet, or not any more */
    bool has_come, is_welcome, has_entered, has_left;
    bool is_halted, is_ready;
    unsigned char *hosted; /* [n_ranks]: which hosts know */
    uint64_t n_ticks, ticked_ns;
};

struct hub_call { /* under way in a world */
    int n_came;
    enum tcp_operation operation;
    uint64_t n_bytes_each;
    int first;                 /* rank that called first; by it others are judged */
    unsigned char *has;        /* [n_ranks] */
    uint64_t *number;          /* [n_ranks]: of the rank's call */
    struct tcp_message *input; /* [n_ranks] */
};

struct hub_world {
    uint32_t id;
    int n_ranks, n_users;
    int *number; /* [n_ranks]: of the run */
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
    struct tcp_message doors;  /* what rank 0 said; body NULL: they are closed */
    bool has_doors;
    struct hub_stranger *stranger; /* [HUB_N_STRANGERS] */
    struct pollfd *polled;         /* room for all of them */
    uint64_t started_ns, gone_ns, last_number;
    bool has_gone, has_stopped; /* G2 */
    enum rc stop_code;          /* with has_stopped */
    char stop_why[RC_MESSAGE_BYTES];
    bool has_begun;  /* TCP_BEGIN */
    bool has_failed; /* G4 */
    struct hub_world *worlds;
    uint32_t last_id;
    atomic_ullong n_strangers;
    atomic_bool is_over;
    pthread_mutex_t lock;             /* of the next three */
    char address[HOST_ADDRESS_BYTES]; /* tcp_hub_reached_address(); "": not known */
    struct peer_seat *seat;           /* NULL: not watched */
    const struct peer_losses *losses; /* NULL: likewise */
    pthread_t thread;
};

/* --- tcp_hub.c --- */

/* To a member; one that is not there gets nothing. An error of its connection shows when it is tended. */
void hub_post(struct tcp_hub *h, int rank, const struct tcp_message *m);
/* The run has failed (G4): all but `rank` are told. */
void hub_fail(struct tcp_hub *h, int rank, enum rc code, const char *why);
/* Is rank lost, and why? why[RC_MESSAGE_BYTES] */
bool hub_is_lost(struct tcp_hub *h, int rank, char *why);

/* --- tcp_hub_gang.c --- */

/* Fail the run where a rank says no more after TCP_GO (G7). */
void hub_check_opening(struct tcp_hub *h, uint64_t now_ns);
/* New connections, what strangers say, and whether all are there or it is too late. */
void hub_gather(struct tcp_hub *h, uint64_t now_ns);
/* Is there room for one more stranger, now? */
bool hub_has_place(struct tcp_hub *h, uint64_t now_ns);
/* The connection of a member has ended before TCP_GO: all are told (G4). */
void hub_stop_for_loss(struct tcp_hub *h, int rank);
/* Milliseconds until hub_gather() has to be called again, whatever comes; -1: need not be. */
int hub_gather_wait_ms(const struct tcp_hub *h, uint64_t now_ns);

/* --- tcp_hub_guests.c --- */

/* RC_NOMEM. */
enum rc hub_guests_open(struct tcp_hub *h) MUST_CHECK;
void hub_guests_close(struct tcp_hub *h);
/* A number for the guest behind this connection, which is taken. false: there is none, and why. */
bool hub_admit_guest(struct tcp_hub *h, struct hub_stranger *s, uint64_t now_ns, char *why);
/* What rank 0 and hosts say of guests. RC_MISMATCH. Takes m->body of TCP_DOORS. */
enum rc hub_take_of_guests(struct tcp_hub *h, int rank, struct tcp_message *m) MUST_CHECK;
/* What guests say, who is lost, who is to stop. */
void hub_tend_guests(struct tcp_hub *h, uint64_t now_ns);
void hub_post_to_guests(struct tcp_hub *h, const struct tcp_message *m);
/* A member is lost: tell guests, and do not wait for it any more (G5, G6). */
void hub_tell_guests_of_loss(struct tcp_hub *h, int rank, const char *why);
/* Their connections, into p; returns how many. */
int hub_poll_guests(const struct tcp_hub *h, struct pollfd *p);

/* --- tcp_hub_calls.c --- */

/* RC_NOMEM */
enum rc hub_worlds_open(struct tcp_hub *h) MUST_CHECK;
void hub_worlds_close(struct tcp_hub *h);
/* What a member has said. RC_MISMATCH: it is none of the protocol; RC_NOMEM. Takes m->body. */
enum rc hub_call(struct tcp_hub *h, int rank, struct tcp_message *m) MUST_CHECK;
enum rc hub_close_world(struct tcp_hub *h, int rank, const struct tcp_message *m) MUST_CHECK;
/* Answer the calls of worlds that have lost a rank; before TCP_BEGIN the run has failed with it (G4). */
void hub_answer_losses(struct tcp_hub *h);

#endif
