/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_parts.h - writes the files of a bundle, each completely or not at all (accept.P1). Private to accept/. */
#ifndef HARNESS_ACCEPT_BUNDLE_PARTS_H
#define HARNESS_ACCEPT_BUNDLE_PARTS_H

#include <sodium.h>

#include "harness/accept/acceptance.h"

enum { ACCEPTANCE_END_BYTES = 128, ACCEPTANCE_PATH_BYTES = 4096 };

/* out := dir/name. RC_INVAL: the name is too long. */
enum rc bundle_path(char out[ACCEPTANCE_PATH_BYTES], const char *dir, const char *name) MUST_CHECK;

/* Write acceptance.jsonl. RC_INVAL, RC_IO, RC_NOMEM, as for the next ones. */
enum rc acceptance_save(const struct acceptance *a, const char *path) MUST_CHECK;
/* The last line of acceptance.jsonl: the digest of all bytes before it. Cannot fail. */
void acceptance_end_line(char out[ACCEPTANCE_END_BYTES], const unsigned char digest[crypto_hash_sha256_BYTES]);
/* Parse acceptance.jsonl, n_bytes in memory; messages begin with name. RC_INVAL: "NAME: line 3: ..."; RC_NOMEM. Also
 * used by the fuzzer. */
enum rc acceptance_parse(struct acceptance *out, const char *name, const char *text, size_t n_bytes) MUST_CHECK;
/* junit.xml */
enum rc acceptance_junit(const struct acceptance *a, const char *path) MUST_CHECK;
/* good.hosts, bad.hosts, slurm.txt; also rank_order.hosts if rank orders were measured */
enum rc acceptance_hosts(const struct acceptance *a, const char *dir) MUST_CHECK;

#endif
