/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame_fuzz.h - any bytes as messages to a server, which must take or refuse each, answer, and end. Test-only; one
 * entry for libFuzzer (ps/suite/frame_fuzzer.c) and for the project's own generator (ps/frame_fuzz_test.c).
 *
 * An input: a byte that chooses the rules (FUZZ_N_RULES of consistency, FUZZ_N_FORMS of compression, and whether
 * batches are handed out, fuzz_is_elastic()), then messages: a
 * byte of which worker it is from, in which of its slots (FUZZ_SLOT times that), and which fields are repaired
 * (FUZZ_REPAIR_*), whether the guest of an elastic run sends it (FUZZ_GUEST), a byte for how many more bytes it has,
 * these. What is missing at the end of the input is missing in the message.
 */
#ifndef PS_SUITE_FRAME_FUZZ_H
#define PS_SUITE_FRAME_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FUZZ_N_WORKERS = 2, FUZZ_N_RULES = 4, FUZZ_N_FORMS = 4, FUZZ_N_ELEMS_0 = 3, FUZZ_N_ELEMS_1 = 1 };
enum { FUZZ_SLOT = 2, FUZZ_N_SLOTS = 8, FUZZ_GUEST = 0x80 };
enum {
    FUZZ_REPAIR_KIND = 0x40,   /* magic and version */
    FUZZ_REPAIR_LAYOUT = 0x20, /* and what else is the same in all requests of a run */
    FUZZ_REPAIR_STEP = 0x10    /* of the chunk that it names */
};

/* Of consistency async alone. */
static inline bool fuzz_is_elastic(unsigned rules)
{
    return rules % FUZZ_N_RULES == 0 && rules / (FUZZ_N_RULES * FUZZ_N_FORMS) % 2 == 1;
}

struct fuzz_outcome {
    size_t n_messages; /* that the server received */
    size_t n_answers, n_refused;
    size_t n_applied; /* gradients */
};

/* Run one input through a server. False: what has to hold for every input did not, and *why says what. */
bool frame_fuzz(struct fuzz_outcome *out, const char **why, const unsigned char *bytes, size_t n_bytes);

#endif
