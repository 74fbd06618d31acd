/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_parts.h - the files of a bundle, one by one. Of this room. Each is written whole or not at all (P1). */
#ifndef HARNESS_ACCEPT_BUNDLE_PARTS_H
#define HARNESS_ACCEPT_BUNDLE_PARTS_H

#include <sodium.h>

#include "harness/accept/acceptance.h"

enum { ACCEPTANCE_END_BYTES = 128, ACCEPTANCE_PATH_BYTES = 4096 };

/* dir/name. RC_INVAL: too long a name. */
enum rc bundle_path(char out[ACCEPTANCE_PATH_BYTES], const char *dir, const char *name) MUST_CHECK;

/* acceptance.jsonl. RC_INVAL, RC_IO, RC_NOMEM, as the next ones. */
enum rc acceptance_save(const struct acceptance *a, const char *path) MUST_CHECK;
/* The last line of it: the digest of all before it. Cannot fail. */
void acceptance_end_line(char out[ACCEPTANCE_END_BYTES], const unsigned char digest[crypto_hash_sha256_BYTES]);
/* acceptance.jsonl of n_bytes in memory; name: what messages begin with. RC_INVAL: "NAME: line 3: ..."; RC_NOMEM. For
 * the fuzzer, too. */
enum rc acceptance_parse(struct acceptance *out, const char *name, const char *text, size_t n_bytes) MUST_CHECK;
/* junit.xml */
enum rc acceptance_junit(const struct acceptance *a, const char *path) MUST_CHECK;
/* good.hosts, bad.hosts, slurm.txt; rank_order.hosts where orders of ranks were measured */
enum rc acceptance_hosts(const struct acceptance *a, const char *dir) MUST_CHECK;
/* SHA256SUMS of name[n], which are in dir. */
enum rc bundle_sums(const char *dir, const char *const *name, size_t n) MUST_CHECK;

#endif
