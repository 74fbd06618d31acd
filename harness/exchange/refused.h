/* SPDX-License-Identifier: Apache-2.0 */
/* refused.h - why a server did not take a message, or a connection; counted by reason. */
#ifndef HARNESS_EXCHANGE_REFUSED_H
#define HARNESS_EXCHANGE_REFUSED_H

#include <stddef.h>
#include <stdint.h>

enum refused {
    NOT_REFUSED,
    REFUSED_STRANGER,     /* a connection, or a frame, of nobody of the run */
    REFUSED_VERSION,      /* of the protocol */
    REFUSED_MODEL,        /* it is of another model, or its pieces are on other servers */
    REFUSED_TRUNCATED,    /* shorter than it says */
    REFUSED_OVERSIZED,    /* longer than it says, or than any is */
    REFUSED_MALFORMED,    /* a field that has no such value */
    REFUSED_NOT_FINITE,   /* a gradient with NaN or infinity in it */
    REFUSED_REPLAYED,     /* a step that was pushed before */
    REFUSED_OUT_OF_ORDER, /* what the protocol does not await from this worker now */
    N_REFUSED
};

enum { REFUSED_TEXT_BYTES = 256 };

/* "not_finite"; never NULL. Cannot fail. */
const char *refused_word(enum refused why);
uint64_t refused_total(const uint64_t count[N_REFUSED]);
/* "replayed 2, not_finite 17": those that there are; "": none. out[n_bytes]. Cannot fail. */
void refused_text(char *out, size_t n_bytes, const uint64_t count[N_REFUSED]);

#endif
