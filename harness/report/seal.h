/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seal.h - a running digest at the end of each line of a file of records, so that later changes are detected.
 *
 * A line is a JSON object. Its last key, chain_sha256, is the first half of the SHA-256 of two texts: the value of the
 * line before ("" for the first line), followed by this line without the key. So a line that was changed, removed,
 * moved or inserted does not fit. The seal detects mistakes. It does not stop a forger, who can recompute all digests.
 * The line ending (LF or CRLF) is not part of the digest.
 *
 *   E1  A file is sealed from its first line on, or not at all.
 *   E2  The chain cannot show that lines are missing at the end. So the manifest of the campaign has the file's digest.
 */
#ifndef HARNESS_REPORT_SEAL_H
#define HARNESS_REPORT_SEAL_H

#include <stddef.h>

#include "harness/base/rc.h"

#define SEAL_KEY "chain_sha256"
enum { SEAL_BYTES = 33 };

struct seal { /* zeroed before the first line */
    char last[SEAL_BYTES];
};

/* *out[*n_out] := the lines of text[n_bytes], each with its seal; an existing seal is replaced. The caller frees it. s
 * is updated after each line. RC_NOMEM: s is unchanged. */
enum rc seal_lines(struct seal *s, char **out, size_t *n_out, const char *text, size_t n_bytes) MUST_CHECK;

enum seal_found {
    SEAL_NONE,
    SEAL_FITS,
    SEAL_OTHER, /* the digest differs, or the line was rewritten in another form */
};
/* Check the seal of line[n_bytes], with or without line feed, after the lines that s has seen. The next line is checked
 * against the digest in this line, whether it fits or not. After a line without a seal no line fits. Cannot fail. */
enum seal_found seal_check(struct seal *s, const char *line, size_t n_bytes);

#endif
