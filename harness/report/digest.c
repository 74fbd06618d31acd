/* SPDX-License-Identifier: Apache-2.0 */
/*
 * digest.c - digests of input files: a record shows which input it used, and later changes are detected; see
 * digest.h.
 */
#include "harness/report/digest.h"

#include <dirent.h>
#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file.h"

static void add_bytes(crypto_hash_sha256_state *d, const void *bytes, size_t n_bytes)
{
    crypto_hash_sha256_update(d, bytes, n_bytes);
}

/* "NAME SIZE" and a zero byte. */
static void add_name(crypto_hash_sha256_state *d, const char *name, uint64_t n_bytes)
{
    char number[32];

    add_bytes(d, name, strlen(name));
    snprintf(number, sizeof number, " %llu", (unsigned long long)n_bytes);
    add_bytes(d, number, strlen(number) + 1);
}

/* The first n_most bytes of a file. */
static enum rc add_file(crypto_hash_sha256_state *d, const char *path, uint64_t n_most)
{
    unsigned char bytes[65536];
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, "an input file"));
    for (size_t n; n_most > 0; n_most -= n) {
        n = fread(bytes, 1, n_most < sizeof bytes ? (size_t)n_most : sizeof bytes, from);
        if (n == 0)
            break;
        add_bytes(d, bytes, n);
    }
    if (ferror(from))
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
out:
    if (from)
        fclose(from);
    return rc;
}

static int is_data(const struct dirent *entry)
{
    static const char *const ending[] = { "ubyte", ".bin", ".gmimg" };
    const size_t n = strlen(entry->d_name);

    for (size_t i = 0; entry->d_name[0] != '.' && i < sizeof ending / sizeof *ending; i++)
        if (n > strlen(ending[i]) && strcmp(entry->d_name + n - strlen(ending[i]), ending[i]) == 0)
            return 1;
    return 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* With d NULL: *total_bytes += its size; else its name, its size and at most n_most of its bytes. */
static enum rc add_entry(crypto_hash_sha256_state *d, const char *folder, const char *name, uint64_t n_most,
                         uint64_t *total_bytes)
{
    struct stat about;
    char *path = NULL;
    enum rc rc = RC_OK;

    if (asprintf(&path, "%s/%s", folder, name) < 0) {
        path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for the names of its files", folder);
    }
    if (stat(path, &about) != 0)
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        goto out;
    if (!d)
        *total_bytes += (uint64_t)about.st_size;
    else {
        add_name(d, name, (uint64_t)about.st_size);
        TRY(add_file(d, path, n_most));
    }
out:
    free(path);
    return rc;
}

/* report.G2 */
static enum rc add_folder(crypto_hash_sha256_state *d, const char *folder)
{
    struct dirent **entry = NULL;
    const int n = scandir(folder, &entry, is_data, by_name);
    uint64_t total_bytes = 0;
    enum rc rc = RC_OK;

    if (n < 0)
        FAIL(RC_INVAL, "%s: cannot be read: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++)
        TRY(add_entry(NULL, folder, entry[i]->d_name, 0, &total_bytes));
    const uint64_t n_most = total_bytes <= DIGEST_READ_BYTES ? total_bytes : DIGEST_READ_BYTES / (uint64_t)n;
    for (int i = 0; i < n; i++)
        TRY(add_entry(d, folder, entry[i]->d_name, n_most, &total_bytes));
out:
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
    return rc;
}

enum rc digest_of(char out[DIGEST_BYTES], const char *path)
{
    crypto_hash_sha256_state hash;
    unsigned char digest[crypto_hash_sha256_BYTES];
    struct stat about;
    enum rc rc = RC_OK;

    crypto_hash_sha256_init(&hash);
    if (stat(path, &about) != 0)
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        TRY(add_folder(&hash, path));
    else {
        TRY(add_file(&hash, path, DIGEST_READ_BYTES));
        if ((uint64_t)about.st_size > DIGEST_READ_BYTES)
            add_name(&hash, "", (uint64_t)about.st_size);
    }
    crypto_hash_sha256_final(&hash, digest);
    sodium_bin2hex(out, DIGEST_BYTES, digest, sizeof digest);
out:
    return rc;
}

enum rc digests_add(struct digests *to, const char *name, const char *path)
{
    struct digest *grown = realloc(to->of, (to->n + 1) * sizeof *grown);
    enum rc rc;

    if (!grown)
        return rc_raise(RC_NOMEM, "no memory for the digests of input files");
    to->of = grown;
    TRY(digest_of(grown[to->n].sha256, path));
    snprintf(grown[to->n].name, sizeof grown[to->n].name, "%s", name);
    to->n++;
out:
    return rc;
}

void digests_free(struct digests *d)
{
    free(d->of);
    *d = (struct digests){ .of = NULL };
}

void digest_record(struct record *r, const struct digest *of, size_t n)
{
    struct record *child = record_open(NULL);

    for (size_t i = 0; i < n; i++)
        record_text(child, of[i].name, of[i].sha256);
    record_child(r, DIGEST_KEY, &child);
}
