/* SPDX-License-Identifier: Apache-2.0 */
/* digest_test.c - digests of files and of folders of data. */
#include "harness/report/digest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"

/* printf abc | sha256sum */
#define ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
/* printf 'a.bin 3\0abcb.bin 0\0' | sha256sum */
#define TWO_FILES "8a2921680488dd6cf84ca48e657f4a5f02475027699e3d9bce21812ee6377189"

enum { PATH_BYTES = 600 };

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    write_text(path, text);
}

static void digest_is(const char *dir, const char *name, const char *expected)
{
    char path[PATH_BYTES], sha256[DIGEST_BYTES];

    snprintf(path, sizeof path, "%s%s%s", dir, name[0] ? "/" : "", name);
    assert_int_equal(digest_of(sha256, path), RC_OK);
    assert_string_equal(sha256, expected);
}

static struct atomic_folder folder;

static int open_folder(void **state)
{
    if (atomic_folder_open_temporary(&folder, "digest-test") != RC_OK)
        return -1;
    *state = folder.temporary_path;
    return 0;
}

static int close_folder(void **state)
{
    (void)state;
    atomic_folder_discard(&folder);
    return 0;
}

/* report.G1, G2: what a data set is read from counts, and nothing beside it. */
UNIT_TEST_WITH(bytes_names_and_sizes_count, open_folder, close_folder)
{
    char *dir = *state, first[DIGEST_BYTES], second[DIGEST_BYTES];

    write_file(dir, "b.bin", "");
    write_file(dir, "a.bin", "abc");
    digest_is(dir, "a.bin", ABC);
    digest_is(dir, "", TWO_FILES);
    write_file(dir, "notes.txt", "any");
    write_file(dir, ".a.bin", "any");
    digest_is(dir, "", TWO_FILES);
    assert_int_equal(digest_of(first, dir), RC_OK);
    write_file(dir, "a.bin", "abd");
    assert_int_equal(digest_of(second, dir), RC_OK);
    assert_string_not_equal(first, second);
}

/* report.G1: behind what is read the size counts. Files with a hole. */
UNIT_TEST_WITH(a_large_file_counts_by_its_beginning_and_size, open_folder, close_folder)
{
    char *dir = *state, path[PATH_BYTES], sha256[2][DIGEST_BYTES];

    write_file(dir, "large.bin", "abc");
    snprintf(path, sizeof path, "%s/large.bin", dir);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(truncate(path, DIGEST_READ_BYTES + 1 + i), 0);
        assert_int_equal(digest_of(sha256[i], path), RC_OK);
    }
    assert_int_equal(unlink(path), 0);
    assert_string_not_equal(sha256[0], sha256[1]);
}

UNIT_TEST_WITH(what_is_not_there_is_named, open_folder, close_folder)
{
    char *dir = *state, path[PATH_BYTES], sha256[DIGEST_BYTES];

    snprintf(path, sizeof path, "%s/none", dir);
    assert_int_equal(digest_of(sha256, path), RC_INVAL);
    assert_memory_equal(rc_message(), path, strlen(path));
    assert_string_equal(rc_message() + strlen(path), ": cannot be read: No such file or directory");
}

UNIT_MAIN("digest")
