/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint.c - header, floats, digest. */
#include "harness/train/checkpoint.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/bytes.h"
#include "harness/base/file.h"
#include "harness/exchange/exchange.h"
#include "harness/train/rank_state.h"
#include "models/engine/training.h"

/* --- the file --- */

enum {
    HEADER_BYTES = 128,
    OLD_HEADER_BYTES = 96, /* of versions 01 and 02 */
    AT_MODEL = 8,
    MODEL_BYTES = 32,
    AT_N_PARAMS = 40,
    AT_SEED = 48,
    AT_STEPS = 56,
    AT_SAMPLES = 64,
    AT_N_STATE = 72, /* version 01: zero */
    AT_WRITER = 80,  /* zero but for lessons */
    AT_OPTIMIZER = 88,
    AT_ZERO = 92,
    AT_N_UPDATES = 96
};
static const char MAGIC[8] = { 'G', 'M', 'C', 'K', 'P', 'T', '0', '3' };
static const char OLD_MAGIC[][8] = { { 'G', 'M', 'C', 'K', 'P', 'T', '0', '1' },
                                     { 'G', 'M', 'C', 'K', 'P', 'T', '0', '2' } };

#define MAX_PARAMS (UINT64_C(1) << 36) /* 256 GiB of floats: a larger count is a broken header */

static void encode_header(unsigned char out[HEADER_BYTES], const struct checkpoint *c)
{
    memset(out, 0, HEADER_BYTES);
    memcpy(out, MAGIC, sizeof MAGIC);
    memcpy(out + AT_MODEL, c->model, MODEL_BYTES);
    bytes_put(out + AT_N_PARAMS, c->n_params, 8);
    bytes_put(out + AT_SEED, c->seed, 8);
    bytes_put(out + AT_STEPS, c->steps_count, 8);
    bytes_put(out + AT_SAMPLES, c->samples_count, 8);
    bytes_put(out + AT_N_STATE, c->n_state, 8);
    bytes_put(out + AT_WRITER, c->writer_rank, 8);
    bytes_put(out + AT_OPTIMIZER, (uint64_t)c->optimizer.kind, 4);
    bytes_put(out + AT_N_UPDATES, c->kept.n_updates, 8);
}

static size_t moment_floats(const struct checkpoint *c)
{
    return (size_t)optimizer_n_moments(&c->optimizer) * c->n_params;
}

/* --- writing --- */

enum {
    CHUNK_BYTES = 1 << 16,
    MOST_UNSYNCED_BYTES = 1 << 24, /* what the disk takes at once: no call lasts long but on a disk that hangs */
};

struct writer {
    struct atomic_file file;
    crypto_hash_sha256_state hash; /* of all that was written */
    size_t n_unsynced_bytes;
    void (*tick)(void *arg);
    void *arg;
};

static void tick(const struct writer *w)
{
    if (w->tick)
        w->tick(w->arg);
}

/* What the disk does not take now is an error now: the system tells it once. */
static enum rc sync_file(struct writer *w)
{
    tick(w);
    if (fflush(w->file.stream) != 0 || fsync(fileno(w->file.stream)) != 0)
        return rc_raise(RC_IO, "%s: write failed: %s%s", w->file.path, strerror(errno), file_write_remedy(errno));
    w->n_unsynced_bytes = 0;
    return RC_OK;
}

static enum rc put(struct writer *w, const void *bytes, size_t n_bytes)
{
    const unsigned char *from = bytes;
    enum rc rc = RC_OK;

    while (n_bytes > 0) {
        const size_t n = n_bytes < CHUNK_BYTES ? n_bytes : CHUNK_BYTES;
        tick(w);
        crypto_hash_sha256_update(&w->hash, from, n);
        fwrite(from, 1, n, w->file.stream); /* short writes are found by commit: ferror */
        from += n;
        n_bytes -= n;
        w->n_unsynced_bytes += n;
        if (w->n_unsynced_bytes >= MOST_UNSYNCED_BYTES)
            TRY(sync_file(w));
    }
out:
    return rc;
}

enum rc checkpoint_save(const struct checkpoint *c, const char *path, void (*tick_fn)(void *arg), void *arg)
{
    unsigned char header[HEADER_BYTES], digest[crypto_hash_sha256_BYTES];
    struct writer w = { .tick = tick_fn, .arg = arg };
    enum rc rc;

    TRY(atomic_file_open(&w.file, path));
    encode_header(header, c);
    crypto_hash_sha256_init(&w.hash);
    TRY(put(&w, header, sizeof header));
    TRY(put(&w, c->param, c->n_params * sizeof *c->param));
    TRY(put(&w, c->kept.moments, moment_floats(c) * sizeof *c->kept.moments));
    TRY(put(&w, c->state, c->n_state * sizeof *c->state));
    crypto_hash_sha256_final(&w.hash, digest);
    fwrite(digest, 1, sizeof digest, w.file.stream);
    tick(&w);
    TRY(atomic_file_commit(&w.file));
    tick(&w);
out:
    atomic_file_discard(&w.file);
    return rc;
}

/* --- reading --- */

/* Versions 01 and 02 do not say it: a momentum, maybe 0. */
static enum rc read_optimizer(struct checkpoint *out, const unsigned char header[HEADER_BYTES], bool is_old,
                              const char *path)
{
    if (is_old) {
        out->optimizer.kind = OPTIMIZER_MOMENTUM;
        out->kept.n_updates = out->steps_count;
        return RC_OK;
    }
    if (bytes_get(header + AT_OPTIMIZER, 4) >= OPTIMIZER_N_KINDS || bytes_get(header + AT_ZERO, 4) != 0)
        return rc_raise(RC_INVAL, "%s: corrupt header", path);
    out->optimizer.kind = (enum optimizer_kind)bytes_get(header + AT_OPTIMIZER, 4);
    out->kept.n_updates = bytes_get(header + AT_N_UPDATES, 8);
    return RC_OK;
}

/* *n_header_bytes: those that its version has. */
static enum rc read_header(struct checkpoint *out, size_t *n_header_bytes, FILE *from, const char *path,
                           unsigned char header[HEADER_BYTES])
{
    const size_t n_read = fread(header, 1, HEADER_BYTES, from);

    if (n_read < sizeof MAGIC || memcmp(header, MAGIC, sizeof MAGIC - 2) != 0)
        return rc_raise(RC_INVAL, "%s: is not a gradmark checkpoint", path);
    const bool is_old =
        memcmp(header, OLD_MAGIC[0], sizeof MAGIC) == 0 || memcmp(header, OLD_MAGIC[1], sizeof MAGIC) == 0;
    if (!is_old && memcmp(header, MAGIC, sizeof MAGIC) != 0)
        return rc_raise(RC_INVAL, "%s: checkpoint version %.2s, this program reads 01 to 03", path,
                        (const char *)header + sizeof MAGIC - 2);
    *n_header_bytes = is_old ? OLD_HEADER_BYTES : HEADER_BYTES;
    if (n_read < *n_header_bytes)
        return rc_raise(RC_INVAL, "%s: truncated, %zu bytes", path, n_read);
    memcpy(out->model, header + AT_MODEL, MODEL_BYTES);
    if (out->model[MODEL_BYTES - 1] != '\0' || bytes_get(header + AT_N_PARAMS, 8) > MAX_PARAMS ||
        bytes_get(header + AT_N_STATE, 8) > MAX_PARAMS)
        return rc_raise(RC_INVAL, "%s: corrupt header", path);
    out->n_params = bytes_get(header + AT_N_PARAMS, 8);
    out->seed = bytes_get(header + AT_SEED, 8);
    out->steps_count = bytes_get(header + AT_STEPS, 8);
    out->samples_count = bytes_get(header + AT_SAMPLES, 8);
    out->n_state = bytes_get(header + AT_N_STATE, 8);
    out->writer_rank = bytes_get(header + AT_WRITER, 8);
    return read_optimizer(out, header, is_old, path);
}

static size_t n_floats(const struct checkpoint *c)
{
    return c->n_params + moment_floats(c) + c->n_state;
}

/* The file must have the length that follows from its header, before anything of that length is allocated. */
static enum rc check_length(const struct checkpoint *c, size_t n_header_bytes, FILE *from, const char *path)
{
    const uint64_t n_expected_bytes = n_header_bytes + n_floats(c) * sizeof(float) + crypto_hash_sha256_BYTES;

    if (fseek(from, 0, SEEK_END) != 0)
        return rc_raise(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    const uint64_t n_bytes = (uint64_t)ftell(from);
    if (n_bytes != n_expected_bytes)
        return rc_raise(RC_INVAL, "%s: %s, %llu bytes where %llu belong", path,
                        n_bytes < n_expected_bytes ? "truncated" : "too long", (unsigned long long)n_bytes,
                        (unsigned long long)n_expected_bytes);
    return fseek(from, (long)n_header_bytes, SEEK_SET) == 0 ? RC_OK : rc_raise(RC_INVAL, "%s: cannot be read", path);
}

enum rc checkpoint_load(struct checkpoint *out, const char *path)
{
    unsigned char header[HEADER_BYTES], digest[crypto_hash_sha256_BYTES], stored[crypto_hash_sha256_BYTES];
    struct checkpoint c = { 0 };
    size_t n_header_bytes;
    FILE *from = NULL;
    crypto_hash_sha256_state hash;
    enum rc rc;

    TRY(file_open_regular(&from, path, "a checkpoint that --save wrote"));
    TRY(read_header(&c, &n_header_bytes, from, path, header));
    TRY(check_length(&c, n_header_bytes, from, path));
    TRY(checkpoint_alloc(&c, true));
    if (fread(c.param, sizeof(float), n_floats(&c), from) != n_floats(&c) ||
        fread(stored, 1, sizeof stored, from) != sizeof stored)
        FAIL(RC_INVAL, "%s: cannot be read to its end", path);
    crypto_hash_sha256_init(&hash);
    crypto_hash_sha256_update(&hash, header, n_header_bytes);
    crypto_hash_sha256_update(&hash, (const unsigned char *)c.param, n_floats(&c) * sizeof(float));
    crypto_hash_sha256_final(&hash, digest);
    if (memcmp(digest, stored, sizeof digest) != 0) /* train.K2 */
        FAIL(RC_INVAL, "%s: corrupt, its SHA-256 does not match", path);
    *out = c;
    c = (struct checkpoint){ 0 };
out:
    checkpoint_free(&c);
    if (from)
        fclose(from);
    return rc;
}

enum rc checkpoint_read_header(struct checkpoint *out, const char *path)
{
    unsigned char header[HEADER_BYTES];
    struct checkpoint c = { 0 };
    size_t n_header_bytes;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, "a checkpoint that --save wrote"));
    TRY(read_header(&c, &n_header_bytes, from, path, header));
    TRY(check_length(&c, n_header_bytes, from, path));
    *out = c;
out:
    if (from)
        fclose(from);
    return rc;
}

enum rc checkpoint_alloc(struct checkpoint *c, bool has_moments)
{
    const size_t n_moment = has_moments ? moment_floats(c) : 0, n = c->n_params + n_moment + c->n_state;

    c->param = malloc(n * sizeof(float) + 1); /* + 1: never a request for nothing */
    if (!c->param)
        return rc_raise(RC_NOMEM, "no memory for a copy of %zu parameters", c->n_params);
    c->kept.moments = n_moment > 0 ? c->param + c->n_params : NULL;
    c->state = c->n_state > 0 ? c->param + n - c->n_state : NULL;
    return RC_OK;
}

enum rc checkpoint_cut(struct checkpoint *c, const struct checkpoint_part *part)
{
    struct checkpoint cut = *c;
    enum rc rc;

    cut.n_params = part->n_params;
    cut.n_state = part->n_state;
    TRY(checkpoint_alloc(&cut, c->kept.moments != NULL));
    memcpy(cut.param, c->param + part->first_param, part->n_params * sizeof *cut.param);
    for (size_t i = 0; cut.kept.moments && i < (size_t)optimizer_n_moments(&c->optimizer); i++)
        memcpy(cut.kept.moments + i * part->n_params, c->kept.moments + i * c->n_params + part->first_param,
               part->n_params * sizeof *cut.param);
    if (cut.state)
        memcpy(cut.state, c->state + part->first_state, part->n_state * sizeof *cut.state);
    free(c->param);
    *c = cut;
out:
    return rc;
}

void checkpoint_free(struct checkpoint *c)
{
    free(c->param);
    *c = (struct checkpoint){ 0 };
}

void params_sha256(char out[SHA256_HEX_BYTES], const float *param, size_t n)
{
    unsigned char digest[crypto_hash_sha256_BYTES];

    crypto_hash_sha256(digest, (const unsigned char *)param, n * sizeof(float));
    sodium_bin2hex(out, SHA256_HEX_BYTES, digest, sizeof digest);
}

/*
 * Checkpoints that rank 0 writes between steps, over the last one. Where workers wait for each other in
 * their steps, all of them meet before it and behind it, so that no step of any contains it (train.L2); else the others
 * go on meanwhile. With servers that hold workers back (--consistency ssp, sync) they go on as far as that lets them,
 * and what they wait for rank 0 then is wait of their steps.
 */

/* Does this rank write, or give its shard to the one that does? */
static bool writes(const struct rank *r)
{
    return (r->world->rank == 0 || rank_shard_gives(r)) && r->param;
}

/* Do the workers of this run wait for each other? All ranks of such a mode are workers. */
static bool all_meet(const struct rank *r)
{
    return r->job->mode->module.caps & MODE_SYNCHRONOUS && r->job->n_workers > 1;
}

/* Are there checkpoints before the one after the last step? */
static bool is_saved_between(const struct train_job *job)
{
    return job->opts.save_every > 0;
}

static enum rc open_checkpoint(struct rank *r)
{
    struct checkpoint *c = &r->result.final;

    if (!writes(r))
        return RC_OK;
    c->n_params = r->job->n_params;
    c->n_state = r->job->n_state;
    c->optimizer = r->job->optimizer;
    return checkpoint_alloc(c, true);
}

/* Neither the last step, behind which the run's own end writes the checkpoint, nor one between two of them. */
static bool is_due(const struct rank *r, size_t step)
{
    const uint64_t every = r->job->opts.save_every, n_done = r->job->resume.steps_count + step + 1;

    return r->param && n_done % every == 0 && step + 1 < r->job->n_steps && (r->world->rank == 0 || all_meet(r));
}

static void note_failure(struct train_saves *s, uint64_t n_steps)
{
    char line[RC_MESSAGE_BYTES + 96];

    if (s->n_failed++ == 0)
        (void)snprintf(s->why, sizeof s->why, "%s", rc_message());
    (void)snprintf(line, sizeof line, "the checkpoint after %llu steps was not written, the run continues: %s",
                   (unsigned long long)n_steps, rc_message());
    peer_tell(&(struct peer_opts){ 0 }, line);
}

static enum rc write_checkpoint(struct rank *r, size_t step)
{
    struct train_saves *s = &r->result.saves;
    struct checkpoint *own = &r->result.final, *c = own, uncut = { .param = NULL }, whole = { .param = NULL };
    size_t n_state = 0;
    enum rc rc = RC_OK;

    TRY(exchange_snapshot(r->exchange, c->param, &c->kept));
    const float *state = workload_state(r->training, &n_state);
    if (c->state)
        TRY(compute_fetch(r->compute, c->state, state, n_state * sizeof *state));
    rank_describe(r, c, step + 1);
    if (r->shard) {
        TRY(rank_shard_join(r, &uncut, own));
        c = &uncut;
    }
    if (r->world->rank > 0) /* the first shard writes */
        goto out;
    if (r->pipe) {
        TRY(rank_pipe_join(r, &whole, c));
        c = &whole;
    }
    if (r->job->stages.number > 0) /* and the first stage */
        goto out;
    if (checkpoint_save(c, r->job->opts.save, world_tick_callback, r->world) == RC_OK)
        s->n_written++;
    else
        note_failure(s, c->steps_count);
out:
    checkpoint_free(&uncut);
    checkpoint_free(&whole);
    return rc;
}

/* Workers of a synchronous mode wait for rank 0. A failed write is reported at once and counted, and the run continues.
 * Errors: as exchange_snapshot(), world_barrier(). */
static enum rc save(struct rank *r, size_t step)
{
    enum rc rc = RC_OK;

    if (!is_due(r, step))
        return RC_OK;
    const uint64_t started_ns = world_now_ns(r->world);
    if (all_meet(r)) /* the others have ended their step */
        TRY(world_barrier(r->world));
    if (writes(r))
        TRY(write_checkpoint(r, step));
    if (all_meet(r)) /* none has begun its next one */
        TRY(world_barrier(r->world));
    r->result.saves.spent_s += 1e-9 * (double)(world_now_ns(r->world) - started_ns);
out:
    return rc;
}

const struct step_hook hook_save = { .name = "save",
                                     .wanted = is_saved_between,
                                     .open = open_checkpoint,
                                     .at = { [AFTER_STEP] = save },
                                     .acts_behind = is_due };
