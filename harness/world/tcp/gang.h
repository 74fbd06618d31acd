/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - the processes of a run of world tcp: who they are, which of them this one is, and where rank 0 listens.
 *
 * A process has that from one of three: gradmark launch sets GRADMARK_GANG_* for those that it starts; TF_CONFIG, as
 * TensorFlow reads it; lists of hosts, as options. gang_export() turns the last two into the first, so that all that
 * asks who launched this process (world_launcher()) reads one thing.
 *
 *   GRADMARK_GANG_MEMBERS  "worker@a:1,worker@b:2,ps@c:3": job and address, by rank; without an address: "worker@host"
 *   GRADMARK_GANG_RANK     of this process
 *   GRADMARK_GANG_HERE     "0/2": the place among the members of this host, and their number
 *   GRADMARK_GANG_ROOT     ADDRESS:PORT of rank 0
 *   GRADMARK_GANG_LISTENS  number of an open file of the process of rank 0, which listens there already; optional
 *   GRADMARK_GANG_KEY      64 hexadecimal digits; "-": the first line of standard input; @FILE: a file as gradmark keys
 *                          makes it; "open": none, everybody gets in (--insecure)
 *   GRADMARK_GANG_BY_HAND  each member was started on its own, and has a terminal of its own; optional
 *   GRADMARK_GANG_JOIN_FILE  by which others may join the run; set by gradmark launch --join-file; optional
 *   GRADMARK_GANG_JOINS    this process is none of them, but joins their run as a guest (world.W9); optional
 *   GRADMARK_GANG_START_S  how long to wait for all members; optional
 *
 * Rank 0 is the chief, or else the first worker; workers come before parameter servers.
 */
#ifndef HARNESS_WORLD_TCP_GANG_H
#define HARNESS_WORLD_TCP_GANG_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/base/rc.h"

enum { GANG_KEY_BYTES = 32, GANG_ADDRESS_BYTES = 256, GANG_JOB_BYTES = 16, GANG_MAX_MEMBERS = 65536 };

struct launch_news;

struct gang_member {
    char job[GANG_JOB_BYTES]; /* "worker", "ps" or "chief" */
    int task;                 /* among those of its job */
    char address[GANG_ADDRESS_BYTES];
};

struct gang {
    char *text;                 /* GRADMARK_GANG_MEMBERS */
    struct gang_member *member; /* [n_ranks], by rank */
    int rank, n_ranks;
    int host_rank, n_host_ranks; /* among the members of this host */
    char root[GANG_ADDRESS_BYTES];
    int listening_fd;               /* -1: none is given */
    bool is_by_hand;                /* GRADMARK_GANG_BY_HAND */
    bool has_join_file;             /* GRADMARK_GANG_JOIN_FILE */
    bool joins;                     /* GRADMARK_GANG_JOINS; rank is n_ranks then */
    bool has_launcher;              /* that key came by standard input: launch.h, L1 */
    const struct launch_news *news; /* of that launcher; NULL: none come */
    bool has_key;                   /* else key is zeros, which everybody knows */
    unsigned char key[GANG_KEY_BYTES];
    double start_s;
    int n_guests, n_servers;   /* that may join, and whom they enter, as world_opts say */
    const char *identity;      /* likewise; borrowed */
    const char *interface;     /* likewise; NULL or "": any */
    uint64_t guest_silence_ns; /* likewise: stall.abort_ns */
};

#define GANG_START_S 60.0

/* Has this process been told of a gang, by GRADMARK_GANG_*? Cheap. */
bool gang_is_told(void);
/* What they say. RC_INVAL: names the variable, its value and what is right; RC_IO: the file or standard input cannot be
 * read; RC_NOMEM. */
enum rc gang_read(struct gang *out) MUST_CHECK;
/* What needs no key: rank, n_ranks, host_rank, n_host_ranks; false: nothing is told, or it is wrong. */
bool gang_peek(struct gang *out);
/* The key is not in the environment any more, for programs that this one starts. */
void gang_forget_key(void);
void gang_free(struct gang *g); /* accepts a zeroed one */
/* "worker 1 at b:2". */
void gang_member_text(const struct gang *g, int rank, char *out, size_t n_bytes);
/* Of a run that a rank was lost to before all its ranks had begun: who that was, and `why`. out[RC_MESSAGE_BYTES] */
void gang_early_loss_text(const struct gang *g, int rank, const char *why, char *out);
/* Why, of one that its connection was all that was heard of. */
#define GANG_LOSS_WHY "ended before its work was done"
/* Why, of one that never said who it is, by its launcher. */
#define GANG_END_WHY "its process has ended"
/* The same of this process; "this process" where it is told of no gang. */
void gang_own_text(char *out, size_t n_bytes);
/* "HOST:PORT" in two; false: it is none such. host[GANG_ADDRESS_BYTES]. */
bool gang_split_address(const char *address, char *host, uint16_t *port);
/* Of one that is none such, what is wrong and what would be right: "is no HOST:PORT, ..." */
const char *gang_address_fault(const char *address);

/* Does this host name or address reach a host from itself alone? */
bool gang_is_loopback(const char *host);
/* The text, member and n_ranks of g from GRADMARK_GANG_MEMBERS. RC_INVAL names that; RC_NOMEM. */
enum rc gang_read_members(struct gang *g, const char *text) MUST_CHECK;
/* Its first IPv4 address: others cannot be used. RC_IO: the message is the reason alone. */
enum rc gang_find_host(struct in_addr *out, const char *host) MUST_CHECK;
/* So many pipes or connections of a gang at once: raises the limit of open files where it can. RC_UNSUPPORTED. */
enum rc gang_check_files(uint64_t n_files) MUST_CHECK;
/* Listen at HOST:PORT; where the name is that of the loopback on this host alone, as systems have it of their own name,
 * at all its addresses; where it is no address of this host (a service, NAT), at that of `interface`, or else at all,
 * which stderr tells. RC_INVAL, RC_IO. */
enum rc gang_listen(int *fd, const char *address, const char *interface) MUST_CHECK;

enum gang_job { GANG_CHIEF, GANG_WORKER, GANG_PS, GANG_N_JOBS };
/* "chief", "worker", "ps": as in TF_CONFIG. */
const char *gang_job_key(enum gang_job job);
/* Members that are parameter servers. */
int gang_n_servers(const struct gang *g);

/* What lists of hosts say, with commas between, as of --worker-hosts and --ps-hosts ("": none); job and task: which
 * member this process is. RC_INVAL names the option. out->root is the first worker's address. */
struct gang_hosts {
    const char *worker_hosts, *ps_hosts, *chief_hosts;
    const char *job;
    int64_t task;         /* -1: not given */
    const char *names[5]; /* how errors name these five, in their order */
};
enum rc gang_of_hosts(struct gang *out, const struct gang_hosts *hosts) MUST_CHECK;
/* Does this TF_CONFIG describe a cluster? NULL, blanks, an object without "cluster" and "task", and an empty cluster do
 * not: one process trains alone then, as in TensorFlow. RC_INVAL: it is no JSON. */
enum rc gang_has_tf_config(bool *out, const char *text) MUST_CHECK;
/* What TF_CONFIG says: { "cluster": { "chief": ["a:1"], "worker": [...], "ps": [...] }, "task": { "type": "worker",
 * "index": 0 } }. "master" is another name of the chief. An evaluator has no place in a gang. RC_INVAL: there are other
 * jobs, too. */
enum rc gang_of_tf_config(struct gang *out, const char *text) MUST_CHECK;
/* Set GRADMARK_GANG_*; key: GRADMARK_GANG_KEY. RC_NOMEM. */
enum rc gang_export(const struct gang *g, const char *key) MUST_CHECK;
/* The path of the user's own key, whose file it makes if there is none: the key of a run by hand on one host without
 * --key-file. It is $XDG_CONFIG_HOME/gradmark/tcp.key (default: ~/.config), a regular file of this user, who alone can
 * read it: GANG_OWN_KEY_LINE and 64 hexadecimal digits. RC_INVAL names --key-file; RC_IO. */
#define GANG_OWN_KEY_LINE "gradmark-tcp-key 1\nkey "
enum rc gang_own_key_file(char *out, size_t n_bytes) MUST_CHECK;
/* The key of a run from a file that gradmark keys makes: three lines, "gradmark-keys 1", "public ...", "secret ...",
 * the last two of 40 characters each: a digest of the secret; or from one of gang_write_join_file() or
 * gang_own_key_file(). RC_IO; RC_INVAL:
 * it is none, or others than its owner may read or change it. Messages name --key-file. */
enum rc gang_read_key_file(unsigned char key[GANG_KEY_BYTES], const char *path) MUST_CHECK;
/* What a process on any host has to know to join a run, in a file for its owner alone, who has it there at once or not
 * at all: four lines, "gradmark-join 1", "key ..." of 64 hexadecimal digits, "root HOST:PORT", and "members ...", as
 * GRADMARK_GANG_* have them. RC_INVAL: path is there already, or cannot be; RC_IO. Messages name --join-file. */
enum rc gang_write_join_file(const char *path, const char *root, const char *key, const char *members) MUST_CHECK;
/* Of a process that joins; gang_read_key_file() has the key. RC_IO, RC_NOMEM; RC_INVAL: as there. */
enum rc gang_of_join_file(struct gang *out, const char *path) MUST_CHECK;
/* RC_INVAL: a member is beyond loopback, and there is no key. */
enum rc gang_check_key(const struct gang *g, bool has_key, bool is_insecure) MUST_CHECK;

#endif
