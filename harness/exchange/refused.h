/* SPDX-License-Identifier: Apache-2.0 */
/* refused.h - why a server refused a message, or a connection; counted by reason. */
#ifndef HARNESS_EXCHANGE_REFUSED_H
#define HARNESS_EXCHANGE_REFUSED_H

#include <stddef.h>
#include <stdint.h>

enum refused {
    NOT_REFUSED,
    REFUSED_STRANGER,     /* a connection, or a frame, not from a rank of the run */
    REFUSED_VERSION,      /* of the protocol */
    REFUSED_MODEL,        /* it is of another model, or its chunks are on other servers */
    REFUSED_TRUNCATED,    /* shorter than its header says */
    REFUSED_OVERSIZED,    /* longer than its header says, or than any message */
    REFUSED_MALFORMED,    /* a field has an invalid value */
    REFUSED_NOT_FINITE,   /* a gradient with NaN or infinity */
    REFUSED_REPLAYED,     /* a step that was pushed before */
    REFUSED_OUT_OF_ORDER, /* the protocol does not expect it from this worker now */
    N_REFUSED
};

enum { REFUSED_TEXT_BYTES = 256 };

/* "not_finite"; never NULL. Cannot fail. */
const char *refused_word(enum refused why);
uint64_t refused_total(const uint64_t count[N_REFUSED]);
/* "replayed 2, not_finite 17": the reasons with a count; "": none. out[n_bytes]. Cannot fail. */
void refused_text(char *out, size_t n_bytes, const uint64_t count[N_REFUSED]);

#endif
