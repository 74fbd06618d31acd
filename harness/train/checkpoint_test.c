/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_test.c - what save writes load reads; every other file is refused, with a reason (K1, K2). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "harness/base/rng.h"
#include "harness/train/checkpoint.h"

enum { N_PARAMS = 37, N_STATE = 5, N_BYTES = 96 + (2 * N_PARAMS + N_STATE) * 4 + 32 };

struct fixture {
    char folder[32], path[64];
    float param[N_PARAMS], velocity[N_PARAMS], state[N_STATE];
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
        f->velocity[i] = -(float)i / 3;
    }
    for (int i = 0; i < N_STATE; i++)
        f->state[i] = 1 + (float)i / 5;
    struct checkpoint c = { .model = "lenet",
                            .seed = 9,
                            .steps_count = 100,
                            .samples_count = 3200,
                            .n_params = N_PARAMS,
                            .param = f->param,
                            .velocity = f->velocity,
                            .n_state = N_STATE,
                            .state = f->state };
    if (checkpoint_save(&c, f->path) != RC_OK)
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

static void what_is_saved_is_loaded(void **state)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    assert_int_equal(checkpoint_load(&c, f->path), RC_OK);
    assert_string_equal(c.model, "lenet");
    assert_true(c.seed == 9 && c.steps_count == 100 && c.samples_count == 3200 && c.n_params == N_PARAMS);
    assert_memory_equal(c.param, f->param, sizeof f->param);
    assert_memory_equal(c.velocity, f->velocity, sizeof f->velocity);
    assert_int_equal(c.n_state, N_STATE);
    assert_memory_equal(c.state, f->state, sizeof f->state);
    checkpoint_free(&c);
    checkpoint_free(&c);
}

/* Version 01 ends behind the velocity; a version to come is refused by its number. */
static void other_versions(void **state)
{
    enum { N_OLD_BYTES = N_BYTES - N_STATE * 4, AT_DIGEST = N_OLD_BYTES - 32, AT_VERSION = 6, AT_N_STATE = 72 };
    struct fixture *f = *state;
    struct checkpoint c = { 0 };
    unsigned char old[N_OLD_BYTES];

    memcpy(old, f->bytes, sizeof old);
    memcpy(old + AT_VERSION, "01", 2);
    memset(old + AT_N_STATE, 0, 8);
    crypto_hash_sha256(old + AT_DIGEST, old, AT_DIGEST);
    put(f, old, sizeof old);
    assert_int_equal(checkpoint_load(&c, f->path), RC_OK);
    assert_int_equal(c.n_state, 0);
    assert_null(c.state);
    assert_memory_equal(c.velocity, f->velocity, sizeof f->velocity);
    checkpoint_free(&c);
    f->bytes[AT_VERSION + 1] = '3';
    put(f, f->bytes, N_BYTES);
    assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "version 03"));
}

static void every_length_is_refused(void **state)
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

static void every_changed_byte_is_refused_K2(void **state)
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

static void other_files_are_named(void **state)
{
    struct fixture *f = *state;
    struct checkpoint c = { 0 };

    put(f, "slope,offset\n", 13);
    assert_int_equal(checkpoint_load(&c, f->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "not a gradmark checkpoint"));
    assert_int_equal(checkpoint_load(&c, f->folder), RC_INVAL);
    assert_int_equal(checkpoint_load(&c, "/no/such/file"), RC_INVAL);
}

static void save_leaves_nothing_where_it_cannot(void **state)
{
    struct fixture *f = *state;
    struct checkpoint c = { .model = "x", .n_params = N_PARAMS, .param = f->param, .velocity = f->velocity };

    assert_int_equal(checkpoint_save(&c, "/no/such/folder/c"), RC_INVAL);
    assert_int_equal(checkpoint_save(&c, f->folder), RC_INVAL);
}

static void digests_are_known_ones(void **state)
{
    char hex[SHA256_HEX_BYTES];

    (void)state;
    params_sha256(hex, NULL, 0); /* FIPS 180-4: of nothing */
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_is_loaded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_versions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_length_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_changed_byte_is_refused_K2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_files_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(save_leaves_nothing_where_it_cannot, set_up, tear_down),
        cmocka_unit_test(digests_are_known_ones),
    };

    return cmocka_run_group_tests_name("checkpoint", tests, NULL, NULL);
}
