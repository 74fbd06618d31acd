/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.h - an algorithm for collective operations on one array of each rank: the interface and its contract.
 *
 *     type              a rank brings         a rank ends with
 *     allreduce         addends               the sums over all ranks
 *     reduce-scatter    addends               rank r: the sums of chunk r; its other chunks are undefined
 *     allgather         rank r: chunk r       all chunks
 *     broadcast         rank root: all        rank root's
 *
 * In place, in data float[n_elems] in host memory; messages have float32, too, unless a call sets another format (A10).
 * An allreduce may have its addends elsewhere (A13).
 * Chunk r is range_part(n_elems, n_ranks, r). The group is the transport's world: all of its ranks call, with equal
 * arguments.
 *
 * The caps of an algorithm say which of these types it has. It predicts the cost of each call before it runs. The
 * conformance suite (allreduce/suite/collective_suite.h) checks both. With COLL_DEVICE data is in the memory of
 * env.compute, a device's, and calls are queued there (A7).
 *
 * Invariants
 *   A1  Results as above; the same bits on every rank that has them, and on every run. Allgather and broadcast copy
 *       bits; a rank's own input stays unchanged in them.
 *   A2  Any n_ranks >= 1, any n_elems in [0, max_elems], any root. Nothing outside data is written.
 *   A3  The messages, bytes, additions and bytes of memory of run() are those of predict(), exactly; with COLL_SHARED,
 *       additions and memory of data in shares.
 *   A4  Our code allocates nothing after open().
 *   A5  data NULL (no data): the same messages, hollow bytes, no arithmetic, the same charge.
 *   A6  A type that the algorithm does not have is RC_UNSUPPORTED; the message names both and the algorithms that have
 *       it.
 *   A7  COLL_DEVICE: run() is called between begin and end of a group (collective_begin, collective_end). end returns
 *       when the whole group is queued: after earlier calls of env.compute, or those before the event that it waits
 *       for. It may wait for earlier groups, and do the rest of their work. After collective_wait() calls of
 *       env.compute see the results. env.transport defines the world; its traffic is not predicted: A3 to A5 do not
 *       apply, and costs are zeros. A failure noticed late, here or on another rank, ends begin, end and wait of this
 *       and every later group, with its reason.
 *   A8  COLL_SHARED: data inside env.share[] of its rank is not copied: the ranks of a host read and write it in one
 *       another's blocks. It must be at the same place of the same share on every rank, and no rank may write it during
 *       the call. Other data is copied through memory of the algorithm. The results have the same bits.
 *   A9  COLL_OPAQUE: messages of another library, or of an algorithm that open() chose. A3 and A5 do not apply; costs
 *       are zeros, or the most of any algorithm that could be chosen.
 *   A10 COLL_NARROW: an allreduce may have messages of 16 bits a float (call.wire; narrow.h has the rounding). A sum is
 *       rounded whenever it is sent, and by the rank that has it before other ranks get it: A1 holds for rounded sums.
 *       With one rank nothing is sent or rounded. A3 includes the memory traffic of rounding.
 *   A11 COLL_THREADS: a library moves the bytes in a separate thread, beside the calling one. Such threads run on every
 *       core that the host's ranks may use, as in a program of that library. If there is no core for both threads of
 *       each rank, ranks do not spin unless the user sets that.
 *   A13 An allreduce out of place (call.input) reads the addends in input, which stays unchanged and does not overlap
 *       data, and writes the sums to data, whose contents before the call are not read. Nothing is copied first: the
 *       costs, messages and bits are those in place. With one rank it is a copy, which costs do not include. Not for
 *       COLL_DEVICE, nor with 16 bits a float. A8 holds for input as for data; if only one of them is in a share,
 *       both go through memory of the algorithm.
 *   A12 COLL_ONE_HOST: all ranks must be on one host. COLL_SHARED, unless COLL_OPAQUE has it choose another one: ranks
 *       of a host must have a memory in common (world.memories_are_apart). Otherwise open() is RC_UNSUPPORTED;
 *       collective_check_hosts() reports that before there is a world.
 */
#ifndef HARNESS_EXCHANGE_COLLECTIVE_H
#define HARNESS_EXCHANGE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/module.h"
#include "harness/base/rc.h"
#include "harness/compute/narrow.h"

struct transport;
struct world;
struct compute;
struct collective;
struct share;

enum collective_type { /* each a bit of an algorithm's caps */
                       COLL_ALLREDUCE = 1u << 0,
                       COLL_REDUCE_SCATTER = 1u << 1,
                       COLL_ALLGATHER = 1u << 2,
                       COLL_BROADCAST = 1u << 3,
                       COLL_TYPES_END = 1u << 4
};

enum collective_caps {                            /* beside types */
                       COLL_DEVICE = 1u << 8,     /* exchange.A7 */
                       COLL_SHARED = 1u << 9,     /* exchange.A8 */
                       COLL_OPAQUE = 1u << 10,    /* exchange.A9 */
                       COLL_REFERENCE = 1u << 11, /* for comparisons only; not to be chosen for many bytes */
                       COLL_NARROW = 1u << 12,    /* exchange.A10 */
                       COLL_PAIRS = 1u << 13,     /* ranks send to one another at once: a transport with TR_PAIRS_WAIT
                                                     takes twice as long for the bytes of the critical path */
                       COLL_THREADS = 1u << 14,   /* exchange.A11 */
                       COLL_ONE_HOST = 1u << 15,  /* exchange.A12 */
                       COLL_CIRCLE = 1u << 16, /* allreduce: each rank sends to the next one alone, and all at once */
};

struct collective_call { /* the same on every rank */
    enum collective_type type;
    int root; /* broadcast: the rank that has the data; ignored by other types */
    size_t n_elems;
    enum wire_format wire; /* exchange.A10: of allreduce; else WIRE_F32 */
    const float *input;    /* exchange.A13: of allreduce, this rank's addends; NULL on all ranks: they are in data */
};

struct collective_group { /* the members, which costs depend on */
    int n_ranks;
    const int *host;      /* [n_ranks]: the number of each rank's host; NULL: each rank has a separate host */
    uint64_t eager_bytes; /* the sender of a longer message waits until it has arrived; 0: no sender waits */
    bool is_least;        /* for a bound: a path is the least time of a call among others like it, where ranks that are
                             done early begin the next one */
    bool may_wait;        /* with is_least: it is not known which senders wait; a path is then the shorter one */
};

struct collective_env {             /* borrowed; outlives the collective */
    const struct module_kind *kind; /* the list of the algorithm: errors name others of it (exchange.A6) */
    struct transport *transport;
    struct compute *compute; /* works in host memory, or no-data; COLL_DEVICE: the device's, with COMPUTE_SIDE */
    int timeout_ms;          /* per message; 0: no limit */
    const void *opts;        /* of the algorithm's module (its option table fills them); NULL: their defaults */
    unsigned types;          /* the types that will run: memory is allocated for these */
    bool narrow;             /* exchange.A10: calls may have 16 bits: allocates max_elems of these, beside data */
    size_t max_elems;
    size_t n_groups; /* COLL_DEVICE: groups are 0 .. n_groups - 1; else ignored */
    struct share *const
        *share; /* exchange.A8: [n_shares], of the transport's ranks on each host; the same number on all ranks */
    int n_shares;
};

struct collective_group_ops { /* exchange.A7 */
    enum rc (*begin)(struct collective *c);
    enum rc (*end)(struct collective *c, size_t group);
    /* Waits for the results of the group, at most env.timeout_ms. */
    enum rc (*wait)(struct collective *c, size_t group);
};

struct collective_cost { /* t = msgs alpha + bytes beta + memory_bytes gamma (after Hockney, Parallel Computing 20,
                            1994) */
    uint64_t msgs;
    uint64_t bytes;
    uint64_t adds;
    uint64_t memory_bytes; /* read and written, for additions and copies; charged to the compute */
    uint64_t meetings;     /* meetings of the ranks of a host, with COLL_SHARED */
    /* Of a critical path, parts of bytes and memory_bytes that take their time together if processors add while
     * messages are on their way: the longer of the two counts. */
    uint64_t beside_bytes, beside_memory_bytes;
};

enum {                            /* memory_bytes of an element of ... */
       COLL_ADD_BYTES = 12,       /* y += x */
       COLL_NARROW_BYTES = 6,     /* 32 bits to 16, or back */
       COLL_WIDEN_ADD_BYTES = 10, /* y += x of 16 bits */
       COLL_ROUND_BYTES = 8       /* x = x of 16 bits */
};

struct collective_ops {
    struct module module; /* caps: enum collective_type, enum collective_caps; memory: allocations of open() for the
                             allreduce of n_params */

    /* Allocates for env->types and env->max_elems. Collective. */
    enum rc (*open)(struct collective **out, const struct collective_env *env);
    /* exchange.A1 to A5. call: checked by the wrapper. After an error data is undefined, the transport is dead (T6),
     * and the caller aborts the group. */
    enum rc (*run)(struct collective *c, const struct collective_call *call, float *data);
    /* What run() sends, adds and copies on `rank` of the group. opts: as in collective_env; call: of a type that it
     * has. Pure. */
    struct collective_cost (*predict)(const void *opts, const struct collective_call *call, int rank,
                                      const struct collective_group *group);
    /* The sequential part on the slowest path from first send to last receive. Links are full duplex, and a rank's link
     * carries one message each way at a time. Pure. */
    struct collective_cost (*critical_path)(const void *opts, const struct collective_call *call,
                                            const struct collective_group *group);
    void (*close)(struct collective **c);
    /* Optional (may be NULL: itself): the algorithm that runs the call; its options are NULL. */
    const struct collective_ops *(*chosen)(const struct collective *c, const struct collective_call *call);
    /* Optional, with chosen: the reason for the choice, in a few words: text[n_bytes]. */
    void (*explain)(const struct collective *c, const struct collective_call *call, char *text, size_t n_bytes);
    const struct collective_group_ops *group; /* COLL_DEVICE; else NULL */
};

struct collective { /* first member of each implementation's struct */
    const struct collective_ops *ops;
    struct collective_env env;
    enum wire_format wire; /* of the running call: whoever calls run() sets it */
    /* for the wrapper: */
    uint16_t *halves; /* [max_elems] if env.narrow: data in the form of messages, at the same indices; NULL: no data */
};

/* Finds it in the list. RC_INVAL names the nearest name. */
enum rc collective_find(const struct collective_ops **out, const struct module_kind *kind, const char *name) MUST_CHECK;
/* "reduce-scatter". Cannot fail. */
const char *collective_type_name(enum collective_type type);
/* Of collective_group, among all ranks of a simulated world; else 0. Pure. */
uint64_t collective_eager_bytes(const struct world *w);
/* Does the sender of a message of n_bytes wait until it arrives, or may it? Pure. */
bool collective_may_wait(const struct collective_group *group, uint64_t n_bytes);
/* The maximum of each kind of cost. */
struct collective_cost collective_cost_most(struct collective_cost a, struct collective_cost b);
/* predict and critical_path of algorithms whose costs are zeros (exchange.A7, A9). */
struct collective_cost collective_no_cost(const void *opts, const struct collective_call *call, int rank,
                                          const struct collective_group *group);
struct collective_cost collective_no_path(const void *opts, const struct collective_call *call,
                                          const struct collective_group *group);
/* The cost of two sequential parts. */
struct collective_cost collective_cost_sum(struct collective_cost a, struct collective_cost b);
/* The cost of the elements of messages: sent; received over data or added to it; rounded by the rank that has the sum
 * (exchange.A10). Its bytes are those sent. */
struct collective_cost collective_send_cost(size_t n_elems, enum wire_format wire);
struct collective_cost collective_receive_cost(size_t n_elems, enum wire_format wire, bool adds);
struct collective_cost collective_round_cost(size_t n_elems, enum wire_format wire);
/* exchange.A6, for all of types (bits). */
enum rc collective_require(const struct module_kind *kind, const struct collective_ops *ops, unsigned types) MUST_CHECK;

struct collective_hosts {      /* of the ranks */
    int n_ranks, n_host_ranks; /* on each host; 0: not known */
    bool memories_are_apart;   /* those of a host have none in common: cluster_memories_are_apart() */
};

/* RC_INVAL: exchange.A12 forbids such hosts. */
enum rc collective_check_hosts(const struct module_kind *kind, const struct collective_ops *ops,
                               const struct collective_hosts *hosts) MUST_CHECK;

/* RC_UNSUPPORTED: exchange.A10; the message names the algorithms that have it. */
enum rc collective_require_narrow(const struct module_kind *kind, const struct collective_ops *ops) MUST_CHECK;

/* exchange.A6, A10; RC_NOMEM. */
enum rc collective_open(struct collective **out, const struct collective_ops *ops,
                        const struct collective_env *env) MUST_CHECK;
/* Errors: exchange.A6. RC_INVAL: a type or a wire format that it was not opened for; a format that the type does not
 * have; more than max_elems; no such root. */
enum rc collective_check(const struct collective *c, const struct collective_call *call) MUST_CHECK;
/* Errors: those of collective_check(): data is untouched and no message was sent. Other errors: see ops. */
enum rc collective_run(struct collective *c, const struct collective_call *call, float *data) MUST_CHECK;
void collective_close(struct collective **c); /* NULL-safe, nulls */
/* The algorithm that runs the call: c's own ops, or the chosen one. */
const struct collective_ops *collective_chosen(const struct collective *c, const struct collective_call *call);
/* The reason; "": there was no choice. */
void collective_explain(const struct collective *c, const struct collective_call *call, char *text, size_t n_bytes);
/* exchange.A7, with COLL_DEVICE; a group that was waited for may be begun again. RC_DEVICE, RC_PEER, RC_TIMEOUT. */
enum rc collective_begin(struct collective *c) MUST_CHECK;
enum rc collective_end(struct collective *c, size_t group) MUST_CHECK;
enum rc collective_wait(struct collective *c, size_t group) MUST_CHECK;

#endif
