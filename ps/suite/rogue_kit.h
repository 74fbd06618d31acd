/* SPDX-License-Identifier: Apache-2.0 */
/* rogue_kit.h - a server of four parameters, and a worker 0 whose requests are written by hand. Test-only. */
#ifndef PS_SUITE_ROGUE_KIT_H
#define PS_SUITE_ROGUE_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/exchange/sync_mode.h"
#include "ps/wire.h"

enum { N_PARAMS = 4, LINE_BYTES = 1024 };

struct rogue {
    struct ps_header header;
    size_t n_payload_bytes;
    int n_sends;
    int n_workers; /* the others send nothing until worker 0 has sent all */
    struct consistency rule;
    struct compression compression;
    uint32_t first_word;  /* of the payload; the others are 0 */
    bool is_other_layout; /* else it is right */
    int n_cut_bytes;      /* of the header, at its end */
    uint64_t n_batches;   /* sync_env's; worker 0 has asked for its first before */
    bool others_push;     /* ones, at rate 1, of chunk 0, and leave then */
};

struct seen { /* of one run */
    const struct rogue *rogue;
    struct server_facts facts;
    struct ps_header answer[PS_MOST_REFUSED + 2]; /* that worker 0 got to what it sent, in order */
    int n_answers;
    float final[N_PARAMS];
    char line[LINE_BYTES]; /* the server's first */
    int n_lines;
    atomic_bool has_sent; /* worker 0 has sent all, and got its answers */
};

#define ASYNC                \
    {                        \
        CONSISTENCY_ASYNC, 0 \
    }
#define SYNC                \
    {                       \
        CONSISTENCY_SYNC, 0 \
    }
#define SSP_0              \
    {                      \
        CONSISTENCY_SSP, 0 \
    }
#define NONE                \
    {                       \
        COMPRESSION_NONE, 0 \
    }
#define FP16                \
    {                       \
        COMPRESSION_FP16, 0 \
    }
#define BF16                \
    {                       \
        COMPRESSION_BF16, 0 \
    }
#define TOPK                  \
    {                         \
        COMPRESSION_TOPK, 0.5 \
    }

/* Worker 0 sends what seen->rogue says, then what it ought to; *seen := what came of it. */
enum rc rogue_run(struct seen *seen, const struct rogue *rogue) MUST_CHECK;
void rogue_expect_params(const struct seen *seen, float a, float b, float c, float d);

#endif
