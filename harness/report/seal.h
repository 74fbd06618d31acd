/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h - a running digest at the end of each line of a file of records, so that a later change is found.
 *
 * A line is a JSON object. Its last key, chain_sha256, is the first half of the SHA-256 of two texts, one behind the
 * other: the value of the line before ("" for the first line), and this line without the key. So a line that was
 * changed, removed, moved or inserted does not fit. It finds mistakes. It does not stop a forger, who can compute all
 * digests anew. How the line ends (LF or CRLF) is no part of it.
 *
 *   E1  A file is sealed from its first line on, or not at all.
 *   E2  What is missing behind the last line, no line can tell: the manifest of the campaign has its digest, too.
 */
#ifndef HARNESS_REPORT_SEAL_H
#define HARNESS_REPORT_SEAL_H

#include <stddef.h>

#include "harness/base/rc.h"

#define SEAL_KEY "chain_sha256"
enum { SEAL_BYTES = 33 };

struct seal { /* zeroed: before the first line */
    char last[SEAL_BYTES];
};

/* *out[*n_out] := the lines of text[n_bytes], each with its seal, in place of the one that it may have. The caller
 * frees it. s goes on from line to line. RC_NOMEM: s is as before. */
enum rc seal_lines(struct seal *s, char **out, size_t *n_out, const char *text, size_t n_bytes) MUST_CHECK;

enum seal_found {
    SEAL_NONE,
    SEAL_FITS,
    SEAL_OTHER, /* its digest is another one, or the line was written anew in another form */
};
/* The seal of line[n_bytes], with its line feed or without, behind those that s has seen. The next line is measured by
 * the digest that this one tells, whether it fits or not; behind a line without one no line fits. Cannot fail. */
enum seal_found seal_check(struct seal *s, const char *line, size_t n_bytes);

#endif
