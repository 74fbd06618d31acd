/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gang.h - the processes of a run of world tcp: the members, the number of this one, and the address of rank 0.
 *
 * A process gets that from one of three sources: GRADMARK_GANG_*, which gradmark launch sets for the processes that it
 * starts; TF_CONFIG, as TensorFlow reads it; lists of hosts, as options. gang_export() turns the last two into the
 * first. So code that asks how this process was launched (world_launcher()) reads only the first.
 *
 *   GRADMARK_GANG_MEMBERS  "worker@a:1,worker@b:2,ps@c:3": job and address, by rank; without an address: "worker@host"
 *   GRADMARK_GANG_RANK     of this process
 *   GRADMARK_GANG_HERE     "0/2": the index among the members of this host, and their number
 *   GRADMARK_GANG_ROOT     ADDRESS:PORT of rank 0
 *   GRADMARK_GANG_LISTENS  number of an open file of the process of rank 0, which listens there already; optional
 *   GRADMARK_GANG_KEY      64 hexadecimal digits; "-": the first line of standard input; @FILE: a file as gradmark keys
 *                          makes it; "open": no key, every process may join (--insecure)
 *   GRADMARK_GANG_BY_HAND  each member was started separately, and has its own terminal; optional
 *   GRADMARK_GANG_JOIN_FILE  by which others may join the run; set by gradmark launch --join-file; optional
 *   GRADMARK_GANG_JOINS    this process is not a member, but joins the run as a late joiner (world.W9); optional
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
    int task;                 /* index among the tasks of its job */
    char address[GANG_ADDRESS_BYTES];
};

struct gang {
    char *text;                 /* GRADMARK_GANG_MEMBERS */
    struct gang_member *member; /* [n_ranks], by rank */
    int rank, n_ranks;
    int host_rank, n_host_ranks; /* among the members of this host */
    char root[GANG_ADDRESS_BYTES];
    int listening_fd;               /* -1: none */
    bool is_by_hand;                /* GRADMARK_GANG_BY_HAND */
    bool has_join_file;             /* GRADMARK_GANG_JOIN_FILE */
    bool joins;                     /* GRADMARK_GANG_JOINS; rank is n_ranks then */
    bool has_launcher;              /* the key came by standard input: world.L1 */
    const struct launch_news *news; /* from that launcher; NULL: none */
    bool has_key;                   /* else key is zeros, which are public */
    unsigned char key[GANG_KEY_BYTES];
    double start_s;
    int n_guests, n_servers;   /* late joiners allowed, and the servers that they use, as in world_opts */
    const char *identity;      /* likewise; borrowed */
    const char *interface;     /* likewise; NULL or "": any */
    uint64_t guest_silence_ns; /* likewise: stall.abort_ns */
};

#define GANG_START_S 60.0

/* Is GRADMARK_GANG_* set for this process? Cheap. */
bool gang_is_told(void);
/* Reads them. Errors: RC_INVAL names the variable, its value and a valid one; RC_IO if the file or standard input
 * cannot be read; RC_NOMEM. */
enum rc gang_read(struct gang *out) MUST_CHECK;
/* Reads what needs no key: rank, n_ranks, host_rank, n_host_ranks. false: not set, or invalid. */
bool gang_peek(struct gang *out);
/* Removes the key from the environment of programs that this one starts. */
void gang_forget_key(void);
void gang_free(struct gang *g); /* accepts a zeroed one */
/* "worker 1 at b:2". */
void gang_member_text(const struct gang *g, int rank, char *out, size_t n_bytes);
/* Text about a rank that was lost before all ranks of the run had begun, with `why`. out[RC_MESSAGE_BYTES] */
void gang_early_loss_text(const struct gang *g, int rank, const char *why, char *out);
/* The reason for a process that only opened a connection. */
#define GANG_LOSS_WHY "ended before its work was done"
/* The reason, by its launcher, for a process that never identified itself. */
#define GANG_END_WHY "its process has ended"
/* The member text of this process; "this process" without a group. */
void gang_own_text(char *out, size_t n_bytes);
/* Splits "HOST:PORT". false: it is not of that form. host[GANG_ADDRESS_BYTES]. */
bool gang_split_address(const char *address, char *host, uint16_t *port);
/* What is wrong with an invalid address, and what is valid: "is no HOST:PORT, ..." */
const char *gang_address_fault(const char *address);

/* The number of items of a list with commas between; "": 0. */
int gang_count_items(const char *text);
/* Does this host name or address reach only the host itself? */
bool gang_is_loopback(const char *host);
/* Sets text, member and n_ranks of g from GRADMARK_GANG_MEMBERS. RC_INVAL names that; RC_NOMEM. */
enum rc gang_read_members(struct gang *g, const char *text) MUST_CHECK;
/* The host's first IPv4 address; other kinds are not supported. RC_IO: the message is only the reason. */
enum rc gang_find_host(struct in_addr *out, const char *host) MUST_CHECK;
/* Raises the limit of open files, if possible, to n_files pipes or connections at once. RC_UNSUPPORTED. */
enum rc gang_check_files(uint64_t n_files) MUST_CHECK;
/* Listens at HOST:PORT. If the host's name resolves to its loopback alone, as on systems that map their own name so, it
 * listens at all addresses. If it is no address of this host (a service, NAT), it listens at that of `interface`, or
 * else at all; a message on stderr says so. RC_INVAL, RC_IO. */
enum rc gang_listen(int *fd, const char *address, const char *interface) MUST_CHECK;

enum gang_job { GANG_CHIEF, GANG_WORKER, GANG_PS, GANG_N_JOBS };
/* "chief", "worker", "ps": as in TF_CONFIG. */
const char *gang_job_key(enum gang_job job);
/* The number of members that are parameter servers. */
int gang_n_servers(const struct gang *g);

/* Lists of hosts with commas between, like --worker-hosts and --ps-hosts ("": none); job and task: this process.
 * RC_INVAL names the option. out->root is the first worker's address. */
struct gang_hosts {
    const char *worker_hosts, *ps_hosts, *chief_hosts;
    const char *job;
    int64_t task;         /* -1: not given */
    const char *names[5]; /* names of these five in errors, in their order */
};
enum rc gang_of_hosts(struct gang *out, const struct gang_hosts *hosts) MUST_CHECK;
/* Does this TF_CONFIG describe a cluster? NULL, blanks, an object without "cluster" and "task", and an empty cluster do
 * not: then one process trains alone, as in TensorFlow. RC_INVAL: it is not JSON. */
enum rc gang_has_tf_config(bool *out, const char *text) MUST_CHECK;
/* Reads TF_CONFIG: { "cluster": { "chief": ["a:1"], "worker": [...], "ps": [...] }, "task": { "type": "worker",
 * "index": 0 } }. "master" is another name of the chief. An evaluator is not a member. RC_INVAL: it has other jobs. */
enum rc gang_of_tf_config(struct gang *out, const char *text) MUST_CHECK;
/* Sets GRADMARK_GANG_*; key: GRADMARK_GANG_KEY. RC_NOMEM. */
enum rc gang_export(const struct gang *g, const char *key) MUST_CHECK;
/* The path of the user's own key file, which is made if missing. It has the key of a run by hand on one host without
 * --key-file. It is $XDG_CONFIG_HOME/gradmark/tcp.key (default: ~/.config), a regular file that only this user can
 * read: GANG_OWN_KEY_LINE and 64 hexadecimal digits. RC_INVAL names --key-file; RC_IO. */
#define GANG_OWN_KEY_LINE "gradmark-tcp-key 1\nkey "
enum rc gang_own_key_file(char *out, size_t n_bytes) MUST_CHECK;
/* Reads the key of a run from a file of gradmark keys: three lines, "gradmark-keys 1", "public ...", "secret ...", the
 * last two of 40 characters each. The key is a digest of the secret. Or from a file of gang_write_join_file() or
 * gang_own_key_file(). Messages name --key-file. Errors: RC_IO; RC_INVAL if it is not a key file, or users other than
 * its owner may read or change it. */
enum rc gang_read_key_file(unsigned char key[GANG_KEY_BYTES], const char *path) MUST_CHECK;
/* Writes a file with what a process on any host needs to join the run. Only its owner can read it, and it appears whole
 * or not at all. It has four lines: "gradmark-join 1", "key ..." of 64 hexadecimal digits, "root HOST:PORT", and
 * "members ...", as in GRADMARK_GANG_*. Messages name --join-file. Errors: RC_INVAL if path exists or cannot be
 * created; RC_IO. */
enum rc gang_write_join_file(const char *path, const char *root, const char *key, const char *members) MUST_CHECK;
/* For a process that joins; gang_read_key_file() reads the key. RC_IO, RC_NOMEM; RC_INVAL: as there. */
enum rc gang_of_join_file(struct gang *out, const char *path) MUST_CHECK;
/* RC_INVAL: a member is not on loopback, and there is no key. */
enum rc gang_check_key(const struct gang *g, bool has_key, bool is_insecure) MUST_CHECK;

#endif
