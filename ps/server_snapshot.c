/* SPDX-License-Identifier: Apache-2.0 */
/* server_snapshot.c - a slice to a file and back; see snapshot.h. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/world/world.h"
#include "ps/snapshot.h"

#define MAGIC UINT64_C(0x3130303053534d47) /* "GMSS0001" */

enum { PATH_BYTES = 4096, WORD_BYTES = 8, N_FIRST_WORDS = 4 };

struct stream { /* that is written or read, and hashed */
    FILE *file;
    crypto_hash_sha256_state hash;
    bool has_failed;
};

static void write_bytes(struct stream *to, const void *bytes, size_t n_bytes)
{
    crypto_hash_sha256_update(&to->hash, bytes, n_bytes);
    to->has_failed = to->has_failed || fwrite(bytes, 1, n_bytes, to->file) != n_bytes;
}

static void read_bytes(struct stream *from, void *bytes, size_t n_bytes)
{
    from->has_failed = from->has_failed || fread(bytes, 1, n_bytes, from->file) != n_bytes;
    if (!from->has_failed)
        crypto_hash_sha256_update(&from->hash, bytes, n_bytes);
}

static void write_word(struct stream *to, uint64_t word)
{
    unsigned char bytes[WORD_BYTES];

    bytes_put(bytes, word, sizeof bytes);
    write_bytes(to, bytes, sizeof bytes);
}

static uint64_t read_word(struct stream *from)
{
    unsigned char bytes[WORD_BYTES] = { 0 };

    read_bytes(from, bytes, sizeof bytes);
    return bytes_get(bytes, sizeof bytes);
}

static void path_of(char out[PATH_BYTES], const struct ps_server *s)
{
    (void)snprintf(out, PATH_BYTES, "%s/server-%d", s->env.snapshots, s->slice);
}

static int n_moments(const struct ps_server *s)
{
    return optimizer_n_moments(&s->env.optimizer);
}

static void write_slice(struct stream *to, const struct ps_server *s)
{
    write_word(to, MAGIC);
    write_word(to, s->layout);
    write_word(to, s->n_updates_before);
    write_word(to, (uint64_t)n_moments(s));
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        write_word(to, s->piece[k].clock);
        for (int w = 0; w < s->env.n_workers; w++)
            write_word(to, s->piece[k].clocks.clock[w]);
    }
    for (int w = 0; w < s->env.n_workers; w++)
        write_word(to, s->client[w].state != TRAINING);
    write_bytes(to, s->param, s->n_elems * sizeof(float));
    for (int i = 0; i < n_moments(s); i++)
        write_bytes(to, s->optimizer.moment[i], s->n_elems * sizeof(float));
}

static enum rc write_snapshot(struct ps_server *s)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    struct atomic_file file = { .stream = NULL };
    struct stream to = { .file = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    const uint64_t start_ns = world_now_ns(s->env.world);
    path_of(path, s);
    TRY(atomic_file_open(&file, path));
    to.file = file.stream;
    crypto_hash_sha256_init(&to.hash);
    write_slice(&to, s);
    crypto_hash_sha256_final(&to.hash, digest);
    if (to.has_failed || fwrite(digest, 1, sizeof digest, file.stream) != sizeof digest)
        FAIL(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    TRY(atomic_file_commit(&file));
    server_note_span(s, "snapshot", start_ns, world_now_ns(s->env.world), -1, s->n_elems);
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc snapshot_begin(struct ps_server *s)
{
    return s->env.snapshots ? write_snapshot(s) : RC_OK;
}

static uint64_t n_parts(const struct ps_server *s)
{
    uint64_t n = 0;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        n += s->piece[k].part.n_elems > 0;
    return n;
}

enum rc snapshot_if_due(struct ps_server *s)
{
    enum rc rc = RC_OK;

    if (!s->env.snapshots || s->n_unsaved < s->env.snapshot_every * n_parts(s))
        return RC_OK;
    TRY(write_snapshot(s));
    s->n_unsaved = 0;
out:
    return rc;
}

/* --- back --- */

static enum rc read_words(struct stream *from, struct ps_server *s, const char *path)
{
    const uint64_t magic = read_word(from), layout = read_word(from);

    s->n_updates_before = read_word(from);
    if (from->has_failed || magic != MAGIC || layout != s->layout || read_word(from) != (uint64_t)n_moments(s))
        return rc_raise(RC_INVAL, "%s: is no snapshot of server %d of this run", path, s->slice);
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        s->piece[k].clock = read_word(from);
        for (int w = 0; w < s->env.n_workers; w++)
            clocks_skip(&s->piece[k].clocks, w, (uint32_t)read_word(from));
    }
    for (int w = 0; w < s->env.n_workers; w++)
        if (read_word(from) != 0 && w > 0) /* worker 0 may ask for the final state again */
            server_leave(s, w);
    return RC_OK;
}

enum rc snapshot_restore(struct ps_server *s)
{
    unsigned char digest[crypto_hash_sha256_BYTES], stored[crypto_hash_sha256_BYTES];
    struct stream from = { .file = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    path_of(path, s);
    TRY(file_open_regular(&from.file, path, "a snapshot of a server"));
    crypto_hash_sha256_init(&from.hash);
    TRY(read_words(&from, s, path));
    read_bytes(&from, s->param, s->n_elems * sizeof(float));
    for (int i = 0; i < n_moments(s); i++)
        read_bytes(&from, s->optimizer.moment[i], s->n_elems * sizeof(float));
    crypto_hash_sha256_final(&from.hash, digest);
    if (from.has_failed || fread(stored, 1, sizeof stored, from.file) != sizeof stored || fgetc(from.file) != EOF ||
        memcmp(digest, stored, sizeof digest) != 0)
        FAIL(RC_INVAL, "%s: is damaged", path); /* N1 */
    s->is_restored = true;
    for (int w = 0; w < s->env.n_workers; w++)
        for (int i = 0; i < PS_CREDITS; i++)
            s->client[w].request[i].is_silent = true;
out:
    if (from.file)
        fclose(from.file);
    return rc;
}

/* Worker w has sent n pushes of piece k that are not in the snapshot. */
static void roll_back(struct ps_server *s, int w, size_t k, uint32_t n)
{
    clocks_skip(&s->piece[k].clocks, w, n);
    s->piece[k].clock += n;
    s->piece[k].n_rolled_back += n;
    s->facts.rolled_back_count += n;
}

void snapshot_catch_up(struct ps_server *s, int w, size_t k, uint32_t step)
{
    if (s->is_restored && step > s->piece[k].clocks.clock[w])
        roll_back(s, w, k, step - s->piece[k].clocks.clock[w]);
}

void snapshot_end_worker(struct ps_server *s, int w, uint64_t n_pushed)
{
    uint64_t n_known = 0;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        n_known += s->piece[k].clocks.clock[w];
    if (s->is_restored && n_pushed > n_known)
        s->facts.rolled_back_count += n_pushed - n_known;
}
