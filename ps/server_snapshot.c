/* SPDX-License-Identifier: Apache-2.0 */
/* server_snapshot.c - a slice to a file and back; see snapshot.h. */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/world/world.h"
#include "ps/copy_words.h"
#include "ps/snapshot.h"

#define MAGIC UINT64_C(0x3330303053534d47) /* "GMSS0003" */
#define MAGIC_MASK UINT64_C(0xffffffff)    /* "GMSS" of it; then the version */

enum { PATH_BYTES = 4096, N_SUFFIX_BYTES = 16, WORD_BYTES = 8 };

struct stream { /* that is written and hashed, or read */
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

/* The newest versions, in the order of the slice: of buckets, which come last first, that of their pieces. */
static void write_params(struct stream *to, const struct ps_server *s)
{
    const struct buckets *b = s->env.buckets;

    for (size_t i = b->n_buckets; i-- > 0;)
        for (size_t k = b->bucket[i].first_piece; k < b->bucket[i].first_piece + b->bucket[i].n_pieces; k++)
            if (s->piece[k].part.n_elems > 0)
                write_bytes(to, server_param(s, k), s->piece[k].part.n_elems * sizeof(float));
}

/* N7; NULL: the run is not elastic. */
static enum rc words_of(unsigned char **out, struct ps_server *s)
{
    *out = NULL;
    if (!server_is_elastic(s))
        return RC_OK;
    *out = malloc(copy_words_bytes(s));
    return *out ? RC_OK : rc_raise(RC_NOMEM, "no memory for the snapshot of server %d", s->slice);
}

static void write_clocks(struct stream *to, const struct ps_server *s)
{
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        write_word(to, s->piece[k].clock);
        write_word(to, s->piece[k].clocks.round);
        for (int w = 0; w < s->env.n_workers; w++)
            write_word(to, s->piece[k].clocks.clock[w]);
    }
    for (int w = 0; w < s->env.n_workers; w++)
        write_word(to, s->client[w].state != TRAINING);
}

static enum rc write_slice(struct stream *to, struct ps_server *s)
{
    unsigned char *words = NULL;
    enum rc rc;

    TRY(words_of(&words, s));
    write_word(to, MAGIC);
    write_word(to, s->layout);
    write_word(to, s->env.n_batches);
    write_word(to, s->n_updates_before);
    write_word(to, (uint64_t)n_moments(s));
    if (words) {
        copy_words_write(words, s);
        write_bytes(to, words, copy_words_bytes(s));
    } else {
        write_clocks(to, s);
    }
    write_params(to, s);
    for (int i = 0; i < n_moments(s); i++)
        write_bytes(to, s->optimizer.moment[i], s->n_elems * sizeof(float));
out:
    free(words);
    return rc;
}

enum rc snapshot_write(struct ps_server *s)
{
    unsigned char digest[crypto_hash_sha256_BYTES];
    struct atomic_file file = { .stream = NULL };
    struct stream to = { .file = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    const uint64_t start_ns = world_now_ns(s->env.world);
    path_of(path, s);
    TRY(file_of_option(atomic_file_open(&file, path), "server-save")); /* found before, where all ranks are on a host */
    to.file = file.stream;
    crypto_hash_sha256_init(&to.hash);
    TRY(write_slice(&to, s));
    crypto_hash_sha256_final(&to.hash, digest);
    if (to.has_failed || fwrite(digest, 1, sizeof digest, file.stream) != sizeof digest)
        FAIL(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    TRY(atomic_file_commit(&file));
    s->is_saved = true;
    s->n_unsaved = 0;
    server_note_span(s, "snapshot", start_ns, world_now_ns(s->env.world), -1, s->n_elems);
out:
    atomic_file_discard(&file);
    return rc;
}

/* --- clocks --- */

static bool has_notes(const struct ps_server *s)
{
    return s->env.snapshots && s->env.consistency.kind != CONSISTENCY_ASYNC;
}

static size_t row_bytes(const struct ps_server *s)
{
    return (1 + (size_t)s->env.n_workers) * WORD_BYTES;
}

static void notes_path_of(char out[PATH_BYTES + N_SUFFIX_BYTES], const struct ps_server *s)
{
    char path[PATH_BYTES];

    path_of(path, s);
    (void)snprintf(out, PATH_BYTES + N_SUFFIX_BYTES, "%s.clocks", path);
}

static enum rc write_notes(const struct ps_server *s, const void *bytes, size_t n_bytes, size_t offset)
{
    char path[PATH_BYTES + N_SUFFIX_BYTES];

    if (pwrite(fileno(s->notes), bytes, n_bytes, (off_t)offset) == (ssize_t)n_bytes)
        return RC_OK;
    notes_path_of(path, s);
    return rc_raise(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
}

enum rc snapshot_note(struct ps_server *s, size_t k)
{
    const struct clocks *c = &s->piece[k].clocks;

    if (!s->notes)
        return RC_OK;
    bytes_put(s->noted_row, c->round, WORD_BYTES);
    for (int w = 0; w < s->env.n_workers; w++)
        bytes_put(s->noted_row + (1 + (size_t)w) * WORD_BYTES, c->clock[w], WORD_BYTES);
    return write_notes(s, s->noted_row, row_bytes(s), WORD_BYTES + k * row_bytes(s));
}

/* In place of what an earlier run may have left. */
static enum rc open_notes(struct ps_server *s)
{
    char path[PATH_BYTES + N_SUFFIX_BYTES];
    unsigned char layout[WORD_BYTES];
    enum rc rc = RC_OK;

    notes_path_of(path, s);
    s->noted_row = malloc(row_bytes(s));
    if (!s->noted_row)
        return rc_raise(RC_NOMEM, "no memory for the clocks of %d workers", s->env.n_workers);
    if (unlink(path) != 0 && errno != ENOENT)
        return rc_raise(RC_IO, "%s: cannot be removed: %s", path, strerror(errno));
    s->notes = fopen(path, "wxe");
    if (!s->notes)
        return rc_raise(RC_IO, "%s: cannot be written: %s", path, strerror(errno));
    for (size_t k = 0; k < s->env.buckets->n_pieces; k++)
        TRY(snapshot_note(s, k));
    bytes_put(layout, s->layout, sizeof layout);
    TRY(write_notes(s, layout, sizeof layout, 0));
out:
    return rc;
}

void snapshot_close(struct ps_server *s)
{
    if (s->notes)
        fclose(s->notes);
    s->notes = NULL;
    free(s->noted_row);
    s->noted_row = NULL;
}

enum rc snapshot_begin(struct ps_server *s)
{
    enum rc rc = RC_OK;

    if (!s->env.snapshots)
        return RC_OK;
    if (has_notes(s))
        TRY(open_notes(s));
    TRY(snapshot_write(s));
out:
    return rc;
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
    TRY(snapshot_write(s));
out:
    return rc;
}

/* --- back --- */

/* Of a piece: the round, and the clock of each worker. */
static void read_row(uint32_t *row, struct stream *from, const struct ps_server *s)
{
    for (int i = 0; i < 1 + s->env.n_workers; i++)
        row[i] = (uint32_t)read_word(from);
}

/* The clocks of piece k are those of `then`, a row of the snapshot, or as they were noted `since`; NULL: they were not.
 */
static enum rc take_clocks(struct ps_server *s, size_t k, const uint32_t *then, const uint32_t *since)
{
    struct piece_state *p = &s->piece[k];
    const bool has_rounds = s->env.consistency.kind == CONSISTENCY_SYNC;
    uint64_t n_lost = 0;

    for (int i = 0; since && i < 1 + s->env.n_workers; i++) {
        const bool counts = has_rounds == (i == 0);
        if (since[i] < then[i] && counts)
            return rc_raise(RC_INVAL, "the clocks of server %d are older than its snapshot, or of another run",
                            s->slice);
        n_lost += counts ? since[i] - then[i] : 0;
    }
    since = since ? since : then;
    clocks_restore(&p->clocks, since + 1, since[0]);
    p->n_rounds_restored = since[0];
    p->clock += n_lost;
    p->n_rolled_back += n_lost;
    s->facts.rolled_back_count += n_lost;
    return RC_OK;
}

struct rows { /* of a piece: what the snapshot says, and what was noted since */
    uint32_t *then, *since;
};

static enum rc read_pieces(struct stream *from, struct stream *notes, struct ps_server *s, const struct rows *row,
                           const char *path)
{
    enum rc rc = RC_OK;

    for (size_t k = 0; k < s->env.buckets->n_pieces; k++) {
        s->piece[k].clock = read_word(from);
        read_row(row->then, from, s);
        if (notes->file)
            read_row(row->since, notes, s);
        if (from->has_failed || notes->has_failed)
            FAIL(RC_INVAL, "%s: what server %d has written is cut off", path, s->slice);
        TRY(take_clocks(s, k, row->then, notes->file ? row->since : NULL));
    }
    for (int w = 0; w < s->env.n_workers; w++)
        if (read_word(from) != 0 && w > 0) /* worker 0 may ask for the final state again */
            server_leave(s, w);
out:
    return rc;
}

/* N7 */
static enum rc read_batches(struct stream *from, struct ps_server *s, const char *path)
{
    unsigned char *words = NULL;
    int n_due = 0;
    enum rc rc;

    TRY(words_of(&words, s));
    read_bytes(from, words, copy_words_bytes(s));
    if (from->has_failed || !copy_words_read(s, words, &n_due) || n_due > 0)
        FAIL(RC_INVAL, "%s: has batches or workers of server %d that no run has", path, s->slice);
out:
    free(words);
    return rc;
}

static enum rc read_clocks(struct stream *from, struct stream *notes, struct ps_server *s, const char *path)
{
    const size_t n_row = 1 + (size_t)s->env.n_workers;
    struct rows row = { calloc(n_row, sizeof(uint32_t)), calloc(n_row, sizeof(uint32_t)) };
    enum rc rc;

    if (!row.then || !row.since)
        FAIL(RC_NOMEM, "no memory for the clocks of %d workers", s->env.n_workers);
    TRY(read_pieces(from, notes, s, &row, path));
out:
    free(row.then);
    free(row.since);
    return rc;
}

static enum rc read_words(struct stream *from, struct stream *notes, struct ps_server *s, const char *path)
{
    const uint64_t magic = read_word(from), layout = read_word(from), n_batches = read_word(from);
    const bool is_ours = (magic & MAGIC_MASK) == (MAGIC & MAGIC_MASK) && !from->has_failed;
    enum rc rc;

    if (is_ours && magic != MAGIC)
        FAIL(RC_INVAL, "%s: is a snapshot in another version of the format than this program writes", path);
    s->n_updates_before = read_word(from);
    if (from->has_failed || magic != MAGIC || layout != s->layout || n_batches != s->env.n_batches ||
        read_word(from) != (uint64_t)n_moments(s) || (notes->file && read_word(notes) != s->layout))
        FAIL(RC_INVAL, "%s: is no snapshot of server %d of this run", path, s->slice);
    TRY(server_is_elastic(s) ? read_batches(from, s, path) : read_clocks(from, notes, s, path));
out:
    return rc;
}

/* N1: before anything of it is used. Then the file is read from its beginning again. */
static enum rc check_digest(FILE *file, const char *path)
{
    enum { BLOCK_BYTES = 16384 };
    unsigned char block[BLOCK_BYTES], digest[crypto_hash_sha256_BYTES], stored[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state hash;
    bool holds = fseek(file, 0, SEEK_END) == 0;
    long n_left = holds ? ftell(file) - (long)sizeof stored : -1;

    crypto_hash_sha256_init(&hash);
    rewind(file);
    for (holds = n_left >= 0; holds && n_left > 0;) {
        const size_t n = n_left < BLOCK_BYTES ? (size_t)n_left : BLOCK_BYTES;
        holds = fread(block, 1, n, file) == n;
        crypto_hash_sha256_update(&hash, block, n);
        n_left -= (long)n;
    }
    crypto_hash_sha256_final(&hash, digest);
    if (!holds || fread(stored, 1, sizeof stored, file) != sizeof stored || memcmp(digest, stored, sizeof digest) != 0)
        return rc_raise(RC_INVAL, "%s: is damaged", path);
    rewind(file);
    return RC_OK;
}

static enum rc open_streams(struct stream *from, struct stream *notes, const struct ps_server *s, const char *path)
{
    char notes_path[PATH_BYTES + N_SUFFIX_BYTES];
    enum rc rc;

    TRY(file_open_regular(&from->file, path, "a snapshot of a server"));
    if (!has_notes(s))
        return RC_OK;
    notes_path_of(notes_path, s);
    TRY(file_open_regular(&notes->file, notes_path, "the clocks of a server"));
out:
    return rc;
}

enum rc snapshot_restore(struct ps_server *s)
{
    struct stream from = { .file = NULL }, notes = { .file = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    path_of(path, s);
    TRY(open_streams(&from, &notes, s, path));
    TRY(check_digest(from.file, path));
    TRY(read_words(&from, &notes, s, path));
    read_bytes(&from, s->param, s->n_elems * sizeof(float));
    for (int i = 0; i < n_moments(s); i++)
        read_bytes(&from, s->optimizer.moment[i], s->n_elems * sizeof(float));
    if (from.has_failed)
        FAIL(RC_INVAL, "%s: is shorter than server %d is", path, s->slice);
    s->is_restored = true;
    for (int w = 0; w < s->env.n_workers; w++)
        for (int i = 0; i < PS_CREDITS; i++)
            s->client[w].request[i].is_silent = true;
out:
    if (from.file)
        fclose(from.file);
    if (notes.file)
        fclose(notes.file);
    return rc;
}

/* Worker w has sent n pushes of piece k that are not in the snapshot. With ssp and sync those are counted (N6), but for
 * late ones that no round has. */
static void roll_back(struct ps_server *s, int w, size_t k, uint32_t n)
{
    clocks_skip(&s->piece[k].clocks, w, n);
    if (s->env.consistency.kind == CONSISTENCY_SYNC)
        return;
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
    if (s->is_restored && !has_notes(s) && n_pushed > n_known)
        s->facts.rolled_back_count += n_pushed - n_known;
}
