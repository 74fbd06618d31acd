/* SPDX-License-Identifier: Apache-2.0 */
/* curve_keys_test.c - pairs that are new each time, files of their owner alone, sets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "harness/base/suite/unit.h"
#include "harness/net/curve_keys.h"

enum { PATH_BYTES = 64, FILE_BYTES = 16 + 2 * (7 + 41) };

struct kit {
    char folder[PATH_BYTES / 2], path[PATH_BYTES];
};

static int kit_open(void **state)
{
    struct kit *k = calloc(1, sizeof *k);

    (void)snprintf(k->folder, sizeof k->folder, "/tmp/curve_keys_XXXXXX");
    if (!mkdtemp(k->folder))
        return -1;
    (void)snprintf(k->path, sizeof k->path, "%s/keys", k->folder);
    *state = k;
    return 0;
}

/* Nothing but the key file was left in the folder. */
static int kit_close(void **state)
{
    struct kit *k = *state;

    (void)unlink(k->path);
    const int failed = rmdir(k->folder);
    free(k);
    return failed;
}

static struct curve_keys make(void)
{
    struct curve_keys keys;

    assert_int_equal(curve_keys_make(&keys), RC_OK);
    assert_int_equal(strlen(keys.public_text), 40);
    assert_int_equal(strlen(keys.secret_text), 40);
    return keys;
}

/* Is the file at path of these keys, and for its owner only? */
static void expect_file(const char *path, const struct curve_keys *keys)
{
    char expected[FILE_BYTES + 1], text[FILE_BYTES + 2] = "";
    struct stat about;
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_int_equal(fread(text, 1, FILE_BYTES + 1, file), FILE_BYTES);
    (void)fclose(file);
    (void)snprintf(expected, sizeof expected, "gradmark-keys 1\npublic %s\nsecret %s\n", keys->public_text,
                   keys->secret_text);
    assert_string_equal(text, expected);
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
}

UNIT_TEST(every_pair_is_another_one)
{
    const struct curve_keys a = make(), b = make();
    char derived[CURVE_TEXT_BYTES];

    assert_string_not_equal(a.public_text, b.public_text);
    assert_string_not_equal(a.secret_text, b.secret_text);
    assert_int_equal(zmq_curve_public(derived, a.secret_text), 0);
    assert_string_equal(derived, a.public_text);
}

UNIT_TEST_WITH(a_file_is_its_owners, kit_open, kit_close)
{
    const struct kit *k = *state;
    const struct curve_keys keys = make();

    assert_int_equal(curve_keys_write(k->path, &keys, false), RC_OK);
    expect_file(k->path, &keys);
}

UNIT_TEST_WITH(nothing_is_overwritten_unless_wanted_K1, kit_open, kit_close)
{
    const struct kit *k = *state;
    const struct curve_keys first = make(), second = make();

    assert_int_equal(curve_keys_write(k->path, &first, false), RC_OK);
    assert_int_equal(curve_keys_write(k->path, &second, false), RC_INVAL);
    assert_non_null(strstr(rc_message(), "--force"));
    expect_file(k->path, &first);
    assert_int_equal(chmod(k->path, 0644), 0);
    assert_int_equal(curve_keys_write(k->path, &second, true), RC_OK);
    expect_file(k->path, &second);
    assert_int_equal(curve_keys_write("/nowhere/at/all", &first, false), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/nowhere/at/all: cannot be written"));
}

UNIT_TEST_WITH(no_message_has_a_secret_in_it_K2, kit_open, kit_close)
{
    const struct kit *k = *state;
    const struct curve_keys keys = make();

    assert_int_equal(curve_keys_write(k->path, &keys, false), RC_OK);
    assert_int_equal(curve_keys_write(k->path, &keys, false), RC_INVAL);
    assert_null(strstr(rc_message(), keys.secret_text));
}

UNIT_TEST(a_set_has_what_was_added)
{
    enum { N_KEYS = 5 };
    const struct curve_keys stranger = make();
    unsigned char key[N_KEYS][CURVE_KEY_BYTES], strange[CURVE_KEY_BYTES];
    struct curve_set *set = NULL;

    assert_int_equal(curve_set_open(&set), RC_OK);
    assert_non_null(zmq_z85_decode(strange, stranger.public_text));
    for (int i = 0; i < N_KEYS; i++) {
        const struct curve_keys keys = make();
        assert_non_null(zmq_z85_decode(key[i], keys.public_text));
        assert_false(curve_set_has(set, key[i]));
        assert_int_equal(curve_set_add(set, keys.public_text), RC_OK);
        assert_int_equal(curve_set_add(set, keys.public_text), RC_OK);
        assert_int_equal(curve_set_n_keys(set), i + 1);
        for (int j = 0; j <= i; j++)
            assert_true(curve_set_has(set, key[j]));
    }
    assert_false(curve_set_has(set, strange));
    assert_int_equal(curve_set_add(set, ""), RC_INVAL);
    assert_int_equal(curve_set_add(set, "too short to be a key"), RC_INVAL);
    assert_int_equal(curve_set_add(set, "a b c d e f g h i j k l m n o p q r s t "), RC_INVAL);
    assert_int_equal(curve_set_n_keys(set), N_KEYS);
    curve_set_close(&set);
    assert_null(set);
    curve_set_close(&set);
}

UNIT_MAIN("curve_keys")
