/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.c - a running digest at the end of each line of a file of records, so that later changes are detected; see
 * seal.h.
 */
#include "harness/report/seal.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char BEGINS[] = ",\"" SEAL_KEY "\":\"", ENDS[] = "\"}", UNKNOWN[] = "?";
enum {
    N_BEGINS = sizeof BEGINS - 1,
    N_ENDS = sizeof ENDS - 1,
    N_DIGITS = SEAL_BYTES - 1,
    N_TAIL = N_BEGINS + N_DIGITS + N_ENDS, /* ,"chain_sha256":"0123456789abcdef0123456789abcdef"} */
};

/* The line feed, and what an editor may put before it. */
static size_t n_end_bytes(const char *line, size_t n_bytes)
{
    size_t n = n_bytes;

    n -= n > 0 && line[n - 1] == '\n';
    n -= n > 0 && line[n - 1] == '\r';
    return n_bytes - n;
}

/* Bytes before the seal, if it has one; else before the "}" that ends the line: *digits := NULL. */
static size_t bare_bytes(const char **digits, const char *line, size_t n_bytes)
{
    const size_t n = n_bytes - n_end_bytes(line, n_bytes);
    const char *tail = n > N_TAIL ? line + n - N_TAIL : NULL;

    *digits = NULL;
    if (tail && memcmp(tail, BEGINS, N_BEGINS) == 0 && memcmp(line + n - N_ENDS, ENDS, N_ENDS) == 0 &&
        strspn(tail + N_BEGINS, "0123456789abcdef") == N_DIGITS)
        *digits = tail + N_BEGINS;
    return *digits ? n - N_TAIL : n > 0 ? n - 1 : 0;
}

static void digest_of(char out[SEAL_BYTES], const char *last, const char *line, size_t n_bare)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;

    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, (const unsigned char *)last, strlen(last));
    crypto_hash_sha256_update(&hash, (const unsigned char *)line, n_bare);
    crypto_hash_sha256_update(&hash, (const unsigned char *)"}", 1);
    crypto_hash_sha256_final(&hash, digest);
    sodium_bin2hex(out, SEAL_BYTES, digest, N_DIGITS / 2);
}

enum rc seal_lines(struct seal *s, char **out, size_t *n_out, const char *text, size_t n_bytes)
{
    FILE *to = open_memstream(out, n_out);
    struct seal seal = *s;
    const char *digits;

    if (!to)
        return rc_raise(RC_NOMEM, "no memory for the seals of records");
    for (const char *line = text, *end; (end = memchr(line, '\n', n_bytes - (size_t)(line - text))); line = end + 1) {
        const size_t n_bare = bare_bytes(&digits, line, (size_t)(end - line));
        digest_of(seal.last, seal.last, line, n_bare);
        fwrite(line, 1, n_bare, to);
        fprintf(to, "%s%s%s\n", BEGINS, seal.last, ENDS);
    }
    const int failed = ferror(to);
    if (fclose(to) != 0 || failed) {
        free(*out);
        *out = NULL;
        return rc_raise(RC_NOMEM, "no memory for the seals of records");
    }
    *s = seal;
    return RC_OK;
}

enum seal_found seal_check(struct seal *s, const char *line, size_t n_bytes)
{
    static const char key[] = "\"" SEAL_KEY "\"";
    char expected[SEAL_BYTES];
    const char *digits;
    const size_t n_bare = bare_bytes(&digits, line, n_bytes);

    if (!digits) {
        snprintf(s->last, sizeof s->last, "%s", UNKNOWN);
        return memmem(line, n_bytes, key, sizeof key - 1) ? SEAL_OTHER : SEAL_NONE;
    }
    digest_of(expected, s->last, line, n_bare);
    const bool fits = strcmp(s->last, UNKNOWN) != 0 && memcmp(expected, digits, N_DIGITS) == 0;
    snprintf(s->last, sizeof s->last, "%.*s", (int)N_DIGITS, digits);
    return fits ? SEAL_FITS : SEAL_OTHER;
}
