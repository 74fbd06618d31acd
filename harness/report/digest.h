/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.h - digests of input files, so that a record tells what its input held, and a later change is found.
 *
 *   G1  The digest of a file of at most DIGEST_READ_BYTES is the SHA-256 of its bytes, as sha256sum prints it. Of a
 *       larger file it is that of its first DIGEST_READ_BYTES and of its size.
 *   G2  The digest of a folder is that of the names, sizes and bytes of its data files (*ubyte, *.bin, *.gmimg), in the
 *       order of their names. All their bytes are read if they are at most DIGEST_READ_BYTES, else of each
 *       of the N files the first DIGEST_READ_BYTES / N. Other files and folders in it do not count.
 */
#ifndef HARNESS_REPORT_DIGEST_H
#define HARNESS_REPORT_DIGEST_H

#include "harness/base/rc.h"
#include "harness/report/record.h"

#define DIGEST_KEY "input_sha256"
enum { DIGEST_BYTES = 65, DIGEST_NAME_BYTES = 64, DIGEST_READ_BYTES = 128 << 20 };

struct digest {                   /* of an input */
    char name[DIGEST_NAME_BYTES]; /* of its option */
    char sha256[DIGEST_BYTES];
};

/* Of the file or folder at path. RC_INVAL "PATH: ...": it cannot be read. RC_NOMEM. */
enum rc digest_of(char out[DIGEST_BYTES], const char *path) MUST_CHECK;
/* "input_sha256":{"cluster":"...", ...} into r; an empty object where n is 0. RC_NOMEM. */
enum rc digest_record(struct record *r, const struct digest *of, size_t n) MUST_CHECK;

#endif
