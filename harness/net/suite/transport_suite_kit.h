/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transport_suite_kit.h - what the cases of transport_suite share: expectations, patterns, guarded memory.
 * Private to transport_suite*.c.
 */
#ifndef HARNESS_NET_SUITE_TRANSPORT_SUITE_KIT_H
#define HARNESS_NET_SUITE_TRANSPORT_SUITE_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/net/transport.h"
#include "harness/world/world.h"

struct suite {
    struct world *w;
    const struct transport_ops *ops;
    int timeout_ms;
    const char *name; /* of the case */
    int n_failures;
};

/* Closes t, when nothing it may still have posted is in use. */
typedef void suite_case_fn(struct suite *s, struct transport *t);

/* Count and print a failure unless ok; returns ok. */
bool suite_expect(struct suite *s, bool ok, const char *what, const char *file, int line);
#define EXPECT(s, ok) suite_expect((s), (ok), #ok, __FILE__, __LINE__)
#define EXPECT_OK(s, call) suite_expect((s), (call) == RC_OK, #call, __FILE__, __LINE__)

/* Memory with GUARD_BYTES before and after that must keep their value. */
struct guarded {
    unsigned char *ptr;
    size_t n_bytes;
};
bool guarded_alloc(struct suite *s, struct guarded *out, size_t n_bytes); /* filled with 0xee */
bool guarded_whole(const struct guarded *g);
/* Whether the bytes still have their first value. */
bool guarded_untouched(const struct guarded *g);
void guarded_free(struct guarded *g);

/* The bytes of message `key` from one rank to another. */
void pattern_fill(unsigned char *out, size_t n_bytes, int from, int to, uint32_t key);
bool pattern_holds(const unsigned char *in, size_t n_bytes, int from, int to, uint32_t key);

/* Ranks at distance d, up and down. */
int suite_next(const struct suite *s, int d);
int suite_prev(const struct suite *s, int d);

/* Message lengths worth trying, in bytes. */
enum { SUITE_N_LENGTHS = 7 };
extern const size_t suite_length_bytes[SUITE_N_LENGTHS];

/* transport_suite_rules.c: refusals, errors, time limits. */
suite_case_fn case_timeout, case_timeout_ms, case_slow_peer, case_short_limit, case_dead, case_one_peer, case_together,
    case_hollow, case_refusals, case_mismatch, case_dead_rank;
/* transport_suite_any.c: TAG_ANY messages. */
suite_case_fn case_any, case_any_held, case_any_none, case_any_order, case_linger;
/* transport_suite_parts.c: messages of header and body. */
suite_case_fn case_parts, case_parts_any, case_parts_add, case_parts_reuse, case_lent, case_parts_too_long,
    case_parts_hollow;
/* transport_suite_tasks.c: transports used by tasks of a rank, one after another and two at once. */
suite_case_fn case_tasks, case_two_tasks;
/* transport_suite_plan.c: plans, and more messages than a window has. */
suite_case_fn case_many, case_plan, case_long, case_hoard;

#endif
