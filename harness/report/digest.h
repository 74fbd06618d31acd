/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h - digests of input files: a record shows which input it used, and later changes are detected.
 *
 *   G1  The digest of a file of at most DIGEST_READ_BYTES is the SHA-256 of its bytes, as sha256sum prints it. For a
 *       larger file it covers the first DIGEST_READ_BYTES and the file size.
 *   G2  The digest of a folder covers the names, sizes and bytes of its data files (*ubyte, *.bin, *.gmimg), in order
 *       of their names. All bytes are read if they are at most DIGEST_READ_BYTES in total. Otherwise the first
 *       DIGEST_READ_BYTES / N bytes of each of the N files are read. Other files and subfolders are ignored.
 */
#ifndef HARNESS_REPORT_DIGEST_H
#define HARNESS_REPORT_DIGEST_H

#include "harness/base/rc.h"
#include "harness/report/record.h"

#define DIGEST_KEY "input_sha256"
enum { DIGEST_BYTES = 65, DIGEST_NAME_BYTES = 64, DIGEST_READ_BYTES = 128 << 20 };

struct digest {                   /* of one input */
    char name[DIGEST_NAME_BYTES]; /* name of its option */
    char sha256[DIGEST_BYTES];
};

/* Digest of the file or folder at path. RC_INVAL "PATH: ...": it cannot be read. RC_NOMEM. */
enum rc digest_of(char out[DIGEST_BYTES], const char *path) MUST_CHECK;
struct digests { /* of several inputs; owned; zeroed: none */
    struct digest *of;
    size_t n;
};
/* Add the digest of the file or folder at path. name: at most DIGEST_NAME_BYTES with the terminator, else cut. Errors
 * of digest_of(); RC_NOMEM. */
enum rc digests_add(struct digests *to, const char *name, const char *path) MUST_CHECK;
void digests_free(struct digests *d); /* accepts a zeroed one */

/* Set "input_sha256":{"cluster":"...", ...} in r; an empty object if n is 0. RC_NOMEM. */
void digest_record(struct record *r, const struct digest *of, size_t n);

#endif
