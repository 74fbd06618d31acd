/* SPDX-License-Identifier: Apache-2.0 */
/* byte_sizes.c - parses sizes in bytes: a comma list of sizes and of sweeps; see byte_sizes.h. */
#include "harness/bench/byte_sizes.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"

enum { WORD_BYTES = 64, MAX_FACTOR = 1024 };

struct parser {
    size_t *out;
    int *n;
    size_t multiple_bytes, most_bytes;
    const char *word; /* of the list: the whole sweep, where it is one */
};

static enum rc parse_size(const struct parser *p, const char *text, size_t *out)
{
    uint64_t n_bytes;

    if (!text_to_u64(text, &n_bytes))
        return rc_raise(RC_INVAL, "\"%s\": is no size; use 4096, 64Mi or the sweep 4:1Gi:x4", p->word);
    if (n_bytes == 0 || n_bytes % p->multiple_bytes != 0 || n_bytes > p->most_bytes)
        return rc_raise(RC_INVAL, "\"%s\": %llu bytes; use a multiple of %zu from %zu to %zu", p->word,
                        (unsigned long long)n_bytes, p->multiple_bytes, p->multiple_bytes, p->most_bytes);
    *out = (size_t)n_bytes;
    return RC_OK;
}

static enum rc add(const struct parser *p, size_t n_bytes)
{
    if (*p->n == BYTE_SIZES_MAX)
        return rc_raise(RC_INVAL, "\"%s\": these are more than %d sizes; use fewer, or a larger factor", p->word,
                        BYTE_SIZES_MAX);
    p->out[(*p->n)++] = n_bytes;
    return RC_OK;
}

/* "x4" of a sweep; "": x2. */
static enum rc parse_factor(const struct parser *p, const char *text, uint64_t *out)
{
    *out = 2;
    if (text[0] == '\0')
        return RC_OK;
    if (text[0] != 'x' || !text_to_u64(text + 1, out) || *out < 2 || *out > MAX_FACTOR)
        return rc_raise(RC_INVAL, "\"%s\": \"%s\" is no factor; use x2 to x%d", p->word, text, MAX_FACTOR);
    return RC_OK;
}

static enum rc parse_sweep(const struct parser *p, const char *colon)
{
    char first_text[WORD_BYTES], last_text[WORD_BYTES];
    const char *second = strchr(colon + 1, ':');
    size_t first, last;
    uint64_t factor;
    enum rc rc;

    snprintf(first_text, sizeof first_text, "%.*s", (int)(colon - p->word), p->word);
    snprintf(last_text, sizeof last_text, "%.*s", (int)(second ? second - colon - 1 : WORD_BYTES - 1), colon + 1);
    TRY(parse_size(p, first_text, &first));
    TRY(parse_size(p, last_text, &last));
    TRY(parse_factor(p, second ? second + 1 : "", &factor));
    if (first > last)
        FAIL(RC_INVAL, "\"%s\": begins above its end; use %s:%s", p->word, last_text, first_text);
    for (size_t n_bytes = first;; n_bytes *= factor) {
        TRY(add(p, n_bytes));
        if (n_bytes > last / factor)
            break;
    }
out:
    return rc;
}

enum rc byte_sizes_parse(size_t out[BYTE_SIZES_MAX], int *n, const char *text, size_t multiple_bytes, size_t most_bytes)
{
    const char *rest = text;
    char word[WORD_BYTES];
    const struct parser p = { out, n, multiple_bytes, most_bytes, word };
    enum rc rc = RC_OK;

    *n = 0;
    while (text[0] && text_next(&rest, word, sizeof word)) {
        const char *colon = strchr(word, ':');
        size_t n_bytes;
        if (colon) {
            TRY(parse_sweep(&p, colon));
            continue;
        }
        TRY(parse_size(&p, word, &n_bytes));
        TRY(add(&p, n_bytes));
    }
    if (*n == 0)
        FAIL(RC_INVAL, "\"%s\": names no size; use 4096, 64Mi or the sweep 4:1Gi:x4", text);
out:
    return rc;
}
