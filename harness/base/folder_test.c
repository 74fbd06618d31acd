/* SPDX-License-Identifier: Apache-2.0 */
/* folder_test.c - what atomic folders leave behind. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/folder.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"

/* What opening a folder has made goes with it, and nothing else.
 * Regression: a refused command left the parents of its --out. */
UNIT_TEST(folders_that_come_to_nothing_leave_none)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], other[64];
    struct atomic_folder f = { .path = NULL };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b/c/", folder);
    assert_int_equal(atomic_folder_open(&f, path), RC_OK);
    atomic_folder_discard(&f);
    snprintf(other, sizeof other, "%s/a", folder);
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(access(folder, F_OK), 0);
    /* somebody else's file keeps its folder, and what is above */
    assert_int_equal(atomic_folder_open(&f, path), RC_OK);
    snprintf(other, sizeof other, "%s/a/b/text", folder);
    write_text(other, "kept");
    atomic_folder_discard(&f);
    assert_int_equal(unlink(other), 0);
    /* what was there before stays */
    assert_int_equal(atomic_folder_open(&f, path), RC_OK);
    atomic_folder_discard(&f);
    snprintf(other, sizeof other, "%s/a/b", folder);
    assert_int_equal(access(other, F_OK), 0);
    /* what is put in place stays, too */
    assert_int_equal(atomic_folder_open(&f, path), RC_OK);
    assert_int_equal(atomic_folder_commit(&f), RC_OK);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(other), 0);
    snprintf(other, sizeof other, "%s/a", folder);
    assert_int_equal(rmdir(other), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* What stays is found again under the name that its path has, and is in the way of another one until then. */
UNIT_TEST(folders_that_stay_are_continued)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], partial[64], text[64];
    struct atomic_folder f = { .path = NULL };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/", folder);
    snprintf(partial, sizeof partial, "%s/a.partial", folder);
    snprintf(text, sizeof text, "%s/text", partial);
    assert_int_equal(atomic_folder_reopen_partial(&f, path), RC_INVAL);
    assert_int_equal(atomic_folder_open_partial(&f, path, "text", "plan"), RC_OK);
    assert_string_equal(f.temporary_path, partial);
    atomic_folder_discard(&f);
    assert_int_equal(access(partial, F_OK), -1);
    assert_int_equal(atomic_folder_open_partial(&f, path, "text", "plan"), RC_OK);
    write_text(text, "kept");
    f.stays = true;
    atomic_folder_discard(&f);
    assert_int_equal(atomic_folder_check(path, "text", "plan"), RC_INVAL);
    assert_int_equal(atomic_folder_open_partial(&f, path, "text", "plan"), RC_INVAL);
    assert_int_equal(access(text, F_OK), 0);
    assert_int_equal(atomic_folder_reopen_partial(&f, path), RC_OK);
    assert_int_equal(atomic_folder_commit(&f), RC_OK);
    assert_int_equal(access(partial, F_OK), -1);
    /* files at its path are nobody's to replace */
    snprintf(text, sizeof text, "%s/a/text", folder);
    assert_int_equal(atomic_folder_open(&f, text), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/text: is there already, and is no folder; name another"));
    assert_int_equal(mkdir(partial, 0777), 0);
    assert_int_equal(atomic_folder_reopen_partial(&f, path), RC_INVAL);
    assert_int_equal(rmdir(partial), 0);
    snprintf(text, sizeof text, "%s/a/text", folder);
    assert_int_equal(unlink(text), 0);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A process that ended before it had a plan is in nobody's way, unless it still runs or has kept something. */
UNIT_TEST(folders_without_a_plan_are_replaced)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], first[64], plan[64], mine[64];
    struct atomic_folder f = { .path = NULL };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a", folder);
    snprintf(first, sizeof first, "%s/a.partial/first", folder);
    snprintf(plan, sizeof plan, "%s/a.partial/plan", folder);
    snprintf(mine, sizeof mine, "%s/a.partial/mine", folder);
    assert_int_equal(atomic_folder_open_partial(&f, path, "first", "plan"), RC_OK);
    write_text(mine, "not of gradmark");
    f.stays = true;
    atomic_folder_discard(&f);
    assert_int_equal(atomic_folder_open_partial(&f, path, "first", "plan"), RC_INVAL);
    write_text(first, "");
    const int fd = open(first, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(atomic_folder_open_partial(&f, path, "first", "plan"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "another process"));
    close(fd);
    write_text(plan, "");
    assert_int_equal(atomic_folder_open_partial(&f, path, "first", "plan"), RC_INVAL);
    assert_int_equal(unlink(plan), 0);
    assert_int_equal(atomic_folder_check(path, "first", "plan"), RC_OK);
    assert_int_equal(access(mine, F_OK), 0);
    assert_int_equal(atomic_folder_open_partial(&f, path, "first", "plan"), RC_OK);
    assert_int_equal(access(mine, F_OK), -1);
    assert_int_equal(access(first, F_OK), -1);
    atomic_folder_discard(&f);
    assert_int_equal(rmdir(folder), 0);
}

/* Nobody else can know its name, or look into it. */
UNIT_TEST(temporary_folders_are_private)
{
    char folder[] = "gm_base_test.XXXXXX", path[64];
    struct atomic_folder f = { .path = NULL }, g = { .path = NULL };
    struct stat about;

    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    assert_int_equal(atomic_folder_open_temporary(&f, "name"), RC_OK);
    assert_int_equal(atomic_folder_open_temporary(&g, "name"), RC_OK);
    snprintf(path, sizeof path, "%s/gradmark-name-", folder);
    assert_memory_equal(f.temporary_path, path, strlen(path));
    assert_string_not_equal(f.temporary_path, g.temporary_path);
    assert_int_equal(stat(f.temporary_path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    snprintf(path, sizeof path, "%s/text", f.temporary_path);
    write_text(path, "gone");
    atomic_folder_discard(&f);
    atomic_folder_discard(&g);
    assert_int_equal(rmdir(folder), 0); /* nothing is left in it */
    assert_int_equal(atomic_folder_open_temporary(&f, "name"), RC_INVAL);
    assert_null(f.temporary_path);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

/* A link to an empty folder stays: the folder that it names is filled. Nothing is made for one that names none. */
UNIT_TEST(links_stay_and_their_folders_are_filled)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], target[64], text[PATH_MAX];
    struct atomic_folder f = { .path = NULL };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/link", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    assert_int_equal(symlink("target", path), 0);
    assert_int_equal(atomic_folder_open(&f, path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/link: is a link to nothing"));
    assert_int_equal(mkdir(target, 0777), 0);
    assert_int_equal(atomic_folder_open(&f, path), RC_OK);
    snprintf(text, sizeof text, "%s/text", f.temporary_path);
    write_text(text, "kept");
    assert_int_equal(atomic_folder_commit(&f), RC_OK);
    snprintf(text, sizeof text, "%s/text", target);
    assert_int_equal(unlink(text), 0);
    assert_int_equal(unlink(path), 0); /* fails for a folder */
    assert_int_equal(rmdir(target), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* Made with those above it, or found empty; what is in it stays. */
UNIT_TEST(an_empty_folder_is_made_or_found)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], other[80];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b", folder);
    assert_int_equal(folder_make_empty(path), RC_OK);
    assert_int_equal(folder_make_empty(path), RC_OK);
    snprintf(other, sizeof other, "%s/text", path);
    write_text(other, "kept");
    assert_int_equal(folder_make_empty(path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/a/b: has files in it"));
    assert_int_equal(folder_make_empty(other), RC_INVAL);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(rmdir(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_MAIN("folder")
