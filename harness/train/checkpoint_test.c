/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_test.c - what save writes load reads; every other file is refused, with a reason (train.K1, K2). The
 * linker puts fsync and rename of this file before the system's: a disk that fails.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/base/rng.h"
#include "harness/base/suite/unit.h"
#include "harness/train/checkpoint.h"

enum { N_PARAMS = 37, N_STATE = 5, N_HEADER = 128, N_BYTES = N_HEADER + (3 * N_PARAMS + N_STATE) * 4 + 32 };

struct fixture {
    char folder[32], path[64];
    float param[N_PARAMS], moments[2 * N_PARAMS], state[N_STATE];
    unsigned char bytes[N_BYTES];
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);

    if (!f)
        return -1;
    snprintf(f->folder, sizeof f->folder, "gm_ckpt_test.XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof f->path, "%s/c", f->folder);
    for (int i = 0; i < N_PARAMS; i++) {
        f->param[i] = (float)i / 7;
        f->moments[i] = -(float)i / 3;
        f->moments[N_PARAMS + i] = (float)i / 9;
    }
    for (int i = 0; i < N_STATE; i++)
        f->state[i] = 1 + (float)i / 5;
    struct checkpoint c = { .model = "lenet",
                            .seed = 9,
                            .steps_count = 100,
                            .samples_count = 3200,
                            .n_params = N_PARAMS,
                            .param = f->param,
                            .optimizer = { .kind = OPTIMIZER_ADAM },
                            .kept = { f->moments, 300 },
                            .n_state = N_STATE,
                            .state = f->state };
    if (checkpoint_save(&c, f->path, NULL, NULL) != RC_OK)
        return -1;
    FILE *from = fopen(f->path, "rb");
    if (!from || fread(f->bytes, 1, N_BYTES, from) != N_BYTES || fgetc(from) != EOF)
        return -1;
    fclose(from);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    unlink(f->path);
    const int left = rmdir(f->folder);
    free(f);
    return left;
}

static void put(const struct fixture *f, const void *bytes, size_t n_bytes)
{
    FILE *to = fopen(f->path, "wb");

    assert_non_null(to);
    assert_int_equal(fwrite(bytes, 1, n_bytes, to), n_bytes);
    fclose(to);
}

UNIT_TEST_WITH(what_is_saved_is_loaded, set_up, tear_down)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    assert_int_equal(checkpoint_load(&c, f->path), RC_OK);
    assert_string_equal(c.model, "lenet");
    assert_true(c.seed == 9 && c.steps_count == 100 && c.samples_count == 3200 && c.n_params == N_PARAMS);
    assert_memory_equal(c.param, f->param, sizeof f->param);
    assert_memory_equal(c.kept.moments, f->moments, sizeof f->moments);
    assert_true(c.optimizer.kind == OPTIMIZER_ADAM && c.kept.n_updates == 300);
    assert_int_equal(c.n_state, N_STATE);
    assert_memory_equal(c.state, f->state, sizeof f->state);
    checkpoint_free(&c);
    checkpoint_free(&c);
}

/* Version 01 ends behind the velocity, 02 behind the model's state; both have shorter headers, and do not name the
 * optimiser. One to come is refused by its number. */
UNIT_TEST_WITH(other_versions, set_up, tear_down)
{
    enum { N_OLD_HEADER = 96, AT_VERSION = 6, AT_N_STATE = 72 };
    struct fixture *f = *state;
    struct checkpoint c = { 0 };
    unsigned char old[N_BYTES];

    for (int version = 1; version <= 2; version++) {
        const size_t n_state = version == 1 ? 0 : N_STATE;
        const size_t at_digest = N_OLD_HEADER + (2 * N_PARAMS + n_state) * sizeof(float);
        memcpy(old, f->bytes, N_OLD_HEADER);
        memcpy(old + N_OLD_HEADER, f->param, sizeof f->param);
        memcpy(old + N_OLD_HEADER + sizeof f->param, f->moments, sizeof f->param);
        memcpy(old + N_OLD_HEADER + 2 * sizeof f->param, f->state, sizeof f->state);
        old[AT_VERSION + 1] = (unsigned char)('0' + version);
        memset(old + AT_N_STATE, 0, 8);
        old[AT_N_STATE] = (unsigned char)n_state;
        memset(old + 88, 0, 8);
        crypto_hash_sha256(old + at_digest, old, at_digest);
        put(f, old, at_digest + 32);
        assert_int_equal(checkpoint_load(&c, f->path), RC_OK);
        assert_int_equal(c.n_state, n_state);
        assert_true(!c.state == (n_state == 0));
        assert_true(c.optimizer.kind == OPTIMIZER_MOMENTUM);
        assert_memory_equal(c.param, f->param, sizeof f->param);
        assert_memory_equal(c.kept.moments, f->moments, sizeof f->param);
        if (n_state > 0)
            assert_memory_equal(c.state, f->state, sizeof f->state);
        checkpoint_free(&c);
    }
    f->bytes[AT_VERSION + 1] = '4';
    put(f, f->bytes, N_BYTES);
    assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "version 04"));
}

UNIT_TEST_WITH(every_length_is_refused, set_up, tear_down)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    for (size_t n = 0; n < N_BYTES; n++) {
        put(f, f->bytes, n);
        assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
        assert_non_null(strstr(rc_message(), f->path));
        assert_null(c.param);
    }
    unsigned char longer[N_BYTES + 1] = { 0 };
    memcpy(longer, f->bytes, N_BYTES);
    put(f, longer, sizeof longer);
    assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "too long"));
}

UNIT_TEST_WITH(every_changed_byte_is_refused_K2, set_up, tear_down)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    for (size_t i = 0; i < N_BYTES; i++) {
        const unsigned char kept = f->bytes[i];
        f->bytes[i] = (unsigned char)(kept ^ (1 + rng_u64(1, RNG_TEST, i) % 255));
        put(f, f->bytes, N_BYTES);
        f->bytes[i] = kept;
        assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
        assert_null(c.param);
    }
}

UNIT_TEST_WITH(other_files_are_named, set_up, tear_down)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    put(f, "slope,offset\n", 13);
    assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "not a gradmark checkpoint"));
    assert_int_equal(checkpoint_load(&c, f->folder), RC_INVAL);
    assert_int_equal(checkpoint_load(&c, "/no/such/file"), RC_INVAL);
}

UNIT_TEST_WITH(save_leaves_nothing_where_it_cannot, set_up, tear_down)
{
    struct fixture *f = *state;
    struct checkpoint c = { .model = "x", .n_params = N_PARAMS, .param = f->param };

    assert_int_equal(checkpoint_save(&c, "/no/such/folder/c", NULL, NULL), RC_INVAL);
    assert_int_equal(checkpoint_save(&c, f->folder, NULL, NULL), RC_INVAL);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);

static bool fsync_fails, rename_fails;

int __wrap_fsync(int fd)
{
    if (!fsync_fails)
        return __real_fsync(fd);
    errno = EIO;
    return -1;
}

int __wrap_rename(const char *from, const char *to)
{
    if (!rename_fails)
        return __real_rename(from, to);
    errno = EROFS;
    return -1;
}

/* Saving another checkpoint over the fixture's fails, says why, and leaves the fixture's bytes and nothing beside. */
static void assert_save_fails(struct fixture *f, const char *why)
{
    struct checkpoint c = { .model = "x", .n_params = N_PARAMS, .param = f->moments };
    unsigned char bytes[N_BYTES + 1];
    int n_files = 0;

    assert_int_equal(checkpoint_save(&c, f->path, NULL, NULL), RC_IO);
    assert_non_null(strstr(rc_message(), why));
    FILE *from = fopen(f->path, "rb");
    assert_non_null(from);
    assert_int_equal(fread(bytes, 1, sizeof bytes, from), N_BYTES);
    fclose(from);
    assert_memory_equal(bytes, f->bytes, N_BYTES);
    DIR *d = opendir(f->folder);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n_files += e->d_name[0] != '.';
    closedir(d);
    assert_int_equal(n_files, 1);
}

UNIT_TEST_WITH(a_save_that_does_not_reach_the_disk_fails_K1, set_up, tear_down)
{
    fsync_fails = true;
    assert_save_fails(*state, "write failed");
    fsync_fails = false;
    rename_fails = true;
    assert_save_fails(*state, "cannot be put in place");
    rename_fails = false;
}

/* A full disk: no file may be longer than half a checkpoint. */
UNIT_TEST_WITH(a_save_cut_short_fails_K1, set_up, tear_down)
{
    struct rlimit kept, half;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &kept), 0);
    half = kept;
    half.rlim_cur = N_BYTES / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &half), 0);
    struct fixture *f = *state;
    struct checkpoint c = { .model = "x",
                            .n_params = N_PARAMS,
                            .param = f->param,
                            .optimizer = { .kind = OPTIMIZER_ADAM },
                            .kept = { f->moments, 1 } };
    const enum rc rc = checkpoint_save(&c, f->path, NULL, NULL);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &kept), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(rc, RC_IO);
    assert_int_equal(checkpoint_load(&c, f->path), RC_OK);
    assert_string_equal(c.model, "lenet");
    assert_memory_equal(c.param, f->param, sizeof f->param);
    checkpoint_free(&c);
}

/* The digest is of the floats' bytes: {1.5, -0.25}, computed elsewhere. */
UNIT_TEST(digests_are_known_ones)
{
    char hex[SHA256_HEX_BYTES];

    params_sha256(hex, NULL, 0); /* FIPS 180-4: of nothing */
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    params_sha256(hex, (const float[]){ 1.5f, -0.25f }, 2);
    assert_string_equal(hex, "abb24382fb190a25ddc6a44c79d3e13ccab2fae15f97bd4d31e59396a4cd6a58");
}

/* Byte for byte as checkpoint.h says: what older and later versions of this program read. */
UNIT_TEST_WITH(the_file_is_laid_out_as_told, set_up, tear_down)
{
    static const unsigned char count[] = {
        N_PARAMS, 0, 0, 0, 0,   0,  0, 0, 9, 0, 0, 0, 0,       0, 0, 0, 100, 0, 0, 0,
        0,        0, 0, 0, 128, 12, 0, 0, 0, 0, 0, 0, N_STATE, 0, 0, 0, 0,   0, 0, 0
    };
    static const unsigned char optimizer[40] = { 3, 0, 0, 0, 0, 0, 0, 0, 44, 1 }; /* adam, 300 updates */
    const struct fixture *f = *state;
    unsigned char digest[32];

    assert_memory_equal(f->bytes, "GMCKPT03lenet\0", 14);
    assert_memory_equal(f->bytes + 40, count, sizeof count);
    assert_memory_equal(f->bytes + 88, optimizer, sizeof optimizer);
    assert_memory_equal(f->bytes + N_HEADER, f->param, sizeof f->param);
    assert_memory_equal(f->bytes + N_HEADER + sizeof f->param, f->moments, sizeof f->moments);
    assert_memory_equal(f->bytes + N_HEADER + 3 * sizeof f->param, f->state, sizeof f->state);
    crypto_hash_sha256(digest, f->bytes, N_BYTES - 32);
    assert_memory_equal(f->bytes + N_BYTES - 32, digest, 32);
}

UNIT_MAIN("checkpoint")
