/* SPDX-License-Identifier: Apache-2.0 */
/* acceptance_bundle.c - the folder of an acceptance test, its checksums last. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/accept/acceptance_report.h"
#include "harness/accept/bundle_parts.h"
#include "harness/accept/judge.h"
#include "harness/base/file.h"
#include "harness/report/record.h"

enum rc bundle_path(char out[ACCEPTANCE_PATH_BYTES], const char *dir, const char *name)
{
    if (snprintf(out, ACCEPTANCE_PATH_BYTES, "%s/%s", dir, name) >= ACCEPTANCE_PATH_BYTES)
        return rc_raise(RC_INVAL, "%.64s...: too long a name", dir);
    return RC_OK;
}

bool acceptance_is_bundle(const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    struct stat about;

    if (bundle_path(path, dir, "acceptance.jsonl") != RC_OK) {
        rc_clear();
        return false;
    }
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static enum rc file_sha256(char out[2 * crypto_hash_sha256_BYTES + 1], const char *path)
{
    unsigned char bytes[16384], digest[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, "a file of the bundle"));
    crypto_hash_sha256_init(&hash);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, from)) > 0;)
        crypto_hash_sha256_update(&hash, bytes, n);
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read: %s", path, strerror(errno));
    crypto_hash_sha256_final(&hash, digest);
    sodium_bin2hex(out, 2 * sizeof digest + 1, digest, sizeof digest);
out:
    if (from)
        fclose(from);
    return rc;
}

enum rc bundle_sums(const char *dir, const char *const *name, size_t n)
{
    char path[ACCEPTANCE_PATH_BYTES], hex[2 * crypto_hash_sha256_BYTES + 1];
    struct atomic_file file = { .stream = NULL };
    enum rc rc;

    TRY(bundle_path(path, dir, "SHA256SUMS"));
    TRY(atomic_file_open(&file, path));
    for (size_t i = 0; i < n; i++) {
        TRY(bundle_path(path, dir, name[i]));
        TRY(file_sha256(hex, path));
        fprintf(file.stream, "%s  %s\n", hex, name[i]);
    }
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    return rc;
}

static const char HEAD[] = "Criteria of the acceptance test whose results are in this folder, as they were used.";

enum rc acceptance_begin(const struct criteria *c, const struct record *manifest, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "criteria.yaml"));
    TRY(criteria_write(c, NULL, HEAD, path));
    TRY(bundle_path(path, dir, "manifest.json"));
    TRY(record_write_file(manifest, path));
out:
    return rc;
}

enum rc acceptance_write(const struct acceptance *a, const struct criteria *c, const struct record *manifest,
                         const char *dir)
{
    static const char *const name[] = { "acceptance.jsonl", "bad.hosts", "criteria.yaml",
                                        "good.hosts",       "junit.xml", "manifest.json",
                                        "report.html",      "slurm.txt", "rank_order.hosts" };
    const bool has_order = acceptance_best_rank_order(a) >= 0;
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "acceptance.jsonl")); /* what all others can be made of: first */
    TRY(acceptance_save(a, path));
    TRY(acceptance_begin(c, manifest, dir));
    TRY(bundle_path(path, dir, "junit.xml"));
    TRY(acceptance_junit(a, path));
    TRY(acceptance_hosts(a, dir));
    TRY(bundle_path(path, dir, "report.html"));
    TRY(acceptance_page(a, path));
    TRY(bundle_sums(dir, name, sizeof name / sizeof *name - !has_order)); /* accept.P1 */
out:
    return rc;
}

enum rc acceptance_read(struct acceptance *out, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    struct acceptance a = { .n_nodes = 0 };
    struct criteria criteria;
    enum rc rc;

    TRY(bundle_path(path, dir, "criteria.yaml"));
    TRY(acceptance_load(&a, dir));
    if (a.is_partial && a.n_criteria == 0 && access(path, F_OK) == 0) { /* accept.J1: a judged one has rows */
        TRY(criteria_load(&criteria, path));
        TRY(judge(&a, &criteria));
    }
    *out = a;
    a = (struct acceptance){ .n_nodes = 0 };
out:
    acceptance_close(&a);
    return rc;
}

enum rc acceptance_keep(const struct acceptance *a, const char *dir)
{
    char path[ACCEPTANCE_PATH_BYTES];
    enum rc rc;

    TRY(bundle_path(path, dir, "acceptance.jsonl"));
    TRY(acceptance_save(a, path));
out:
    return rc;
}
