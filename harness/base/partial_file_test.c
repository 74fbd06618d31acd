/* SPDX-License-Identifier: Apache-2.0 */
/* partial_file_test.c - files that grow by whole pieces: partial_file.h base.G1 to G4. */
#include "harness/base/partial_file.h"
#include "harness/base/suite/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Calls of fsync() for folders, in the place of the C library's. */
static struct stat synced_folder; /* the last */
static int n_synced_folders;

int fsync(int fd)
{
    struct stat about;

    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode)) {
        synced_folder = about;
        n_synced_folders++;
    }
    return (int)syscall(SYS_fsync, fd);
}

struct place {
    char dir[64], path[80], partial[96], text[256];
};

static int set_up(void **state)
{
    static struct place place;
    const char *base = getenv("TMPDIR");

    snprintf(place.dir, sizeof place.dir, "%s/gradmark-partial.XXXXXX", base && strlen(base) < 30 ? base : "/tmp");
    if (!mkdtemp(place.dir))
        return -1;
    snprintf(place.path, sizeof place.path, "%s/runs", place.dir);
    snprintf(place.partial, sizeof place.partial, "%s/runs.partial", place.dir);
    *state = &place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *p = *state;

    (void)unlink(p->path);
    (void)unlink(p->partial);
    return rmdir(p->dir);
}

/* NULL: there is none. */
static const char *text_of(struct place *p, const char *path)
{
    FILE *from = fopen(path, "r");

    if (!from)
        return NULL;
    p->text[fread(p->text, 1, sizeof p->text - 1, from)] = '\0';
    fclose(from);
    return p->text;
}

#define TEST(f) UNIT_TEST_WITH(f, set_up, tear_down)

/* base.G1: where it cannot be put in place, nothing is lost. */
TEST(what_cannot_be_put_in_place_stays)
{
    struct place *p = *state;
    struct atomic_file f;

    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    assert_int_equal(partial_file_append(&f, "piece\n", 6), RC_OK);
    assert_int_equal(mkdir(p->path, 0700), 0);
    assert_int_equal(partial_file_commit(&f), RC_IO);
    assert_string_equal(text_of(p, p->partial), "piece\n");
    assert_int_equal(rmdir(p->path), 0);
}

/* base.G2 */
TEST(pieces_become_the_file)
{
    struct place *p = *state;
    struct atomic_file f;

    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    assert_int_equal(partial_file_append(&f, "one\n", 4), RC_OK);
    assert_string_equal(text_of(p, p->partial), "one\n"); /* before anything else happens */
    assert_int_equal(partial_file_append(&f, "two\nmore", 4), RC_OK);
    assert_null(text_of(p, p->path));
    assert_int_equal(partial_file_commit(&f), RC_OK);
    assert_string_equal(text_of(p, p->path), "one\ntwo\n");
    assert_null(text_of(p, p->partial));
}

/* base.G1, G4: killed after a piece; a part of another one is cut off; base.G3: the lock is gone with the process. */
TEST(a_killed_process_leaves_its_pieces)
{
    struct place *p = *state;
    struct atomic_file f;
    char line[32];
    int status;

    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (partial_file_open(&f, p->path) == RC_OK && partial_file_append(&f, "whole\n", 6) == RC_OK &&
            partial_file_append(&f, "par", 3) == RC_OK)
            raise(SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(partial_file_reopen(&f, p->path), RC_OK);
    assert_non_null(fgets(line, sizeof line, f.stream));
    assert_string_equal(line, "whole\n");
    assert_int_equal(partial_file_cut(&f, 6), RC_OK);
    assert_int_equal(partial_file_append(&f, "next\n", 5), RC_OK);
    assert_int_equal(partial_file_commit(&f), RC_OK);
    assert_string_equal(text_of(p, p->path), "whole\nnext\n");
}

/* What was left, or put in place, is gone on with; what was dropped is gone. */
TEST(left_and_taken_up_again)
{
    struct place *p = *state;
    struct atomic_file f;

    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    assert_int_equal(partial_file_append(&f, "a", 1), RC_OK);
    partial_file_leave(&f);
    partial_file_leave(&f);
    assert_string_equal(text_of(p, p->partial), "a");
    assert_int_equal(partial_file_open(&f, p->path), RC_INVAL); /* not over what is there */
    assert_string_equal(text_of(p, p->partial), "a");
    assert_int_equal(partial_file_reopen(&f, p->path), RC_OK);
    assert_int_equal(partial_file_append(&f, "b", 1), RC_OK);
    assert_int_equal(partial_file_commit(&f), RC_OK);
    assert_int_equal(partial_file_reopen(&f, p->path), RC_OK); /* of the whole file */
    assert_null(text_of(p, p->path));
    assert_int_equal(partial_file_append(&f, "c", 1), RC_OK);
    assert_int_equal(partial_file_commit(&f), RC_OK);
    assert_string_equal(text_of(p, p->path), "abc");
    assert_int_equal(partial_file_reopen(&f, p->path), RC_OK);
    atomic_file_discard(&f);
    assert_null(text_of(p, p->path));
    assert_null(text_of(p, p->partial));
}

/* base.G5: other bytes under the same name and lock; as it was, it has another name. */
TEST(what_it_holds_is_replaced)
{
    struct place *p = *state;
    struct atomic_file f, g;
    char aside[128];
    struct stat about;

    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    assert_int_equal(partial_file_append(&f, "a\nb\nc\nd\n", 8), RC_OK);
    assert_int_equal(chmod(p->partial, 0640), 0);
    assert_int_equal(partial_file_replace(&f, "a\nc\n", 4, aside, sizeof aside), RC_OK);
    assert_string_equal(text_of(p, p->partial), "a\nc\n");
    assert_string_equal(text_of(p, aside), "a\nb\nc\nd\n");
    assert_int_equal(strncmp(aside, p->path, strlen(p->path)), 0);
    assert_string_equal(aside + strlen(p->path), ".damaged");
    assert_int_equal(stat(p->partial, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    assert_int_equal(unlink(aside), 0);
    assert_int_equal(mkdir(aside, 0700), 0); /* the name is taken */
    assert_int_equal(partial_file_append(&f, "e\n", 2), RC_OK);
    assert_int_equal(partial_file_reopen(&g, p->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "another process is writing it"));
    assert_int_equal(partial_file_replace(&f, "", 0, aside, sizeof aside), RC_OK);
    assert_string_equal(aside + strlen(p->path), ".damaged-2");
    assert_string_equal(text_of(p, aside), "a\nc\ne\n");
    assert_int_equal(unlink(aside), 0);
    aside[strlen(aside) - 2] = '\0';
    assert_int_equal(rmdir(aside), 0);
    assert_int_equal(partial_file_append(&f, "f\n", 2), RC_OK);
    assert_int_equal(partial_file_commit(&f), RC_OK);
    assert_string_equal(text_of(p, p->path), "f\n");
}

/* base.G3, and what cannot be gone on with. */
TEST(what_is_refused)
{
    struct place *p = *state;
    struct atomic_file f, g;
    char expected[256];

    assert_int_equal(partial_file_reopen(&g, p->path), RC_INVAL);
    snprintf(expected, sizeof expected, "%s: is not there, nor is %s", p->path, p->partial);
    assert_string_equal(rc_message(), expected);
    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    assert_int_equal(partial_file_reopen(&g, p->path), RC_INVAL);
    snprintf(expected, sizeof expected, "%s: another process is writing it", p->partial);
    assert_string_equal(rc_message(), expected);
    partial_file_leave(&f);
    FILE *to = fopen(p->path, "w");
    assert_non_null(to);
    assert_int_equal(fclose(to), 0);
    assert_int_equal(partial_file_reopen(&g, p->path), RC_INVAL);
    assert_non_null(strstr(rc_message(), "is there, and so is "));
    assert_non_null(text_of(p, p->path)); /* neither was touched */
    assert_non_null(text_of(p, p->partial));
    assert_int_equal(partial_file_open(&f, "/no/such/folder/x"), RC_INVAL);
}

/* A piece that cannot be written whole is not there in part. */
TEST(a_full_disk_leaves_no_part)
{
    struct place *p = *state;
    struct atomic_file f;
    int status;

    const pid_t pid = fork(); /* the limit is of a process */
    assert_true(pid >= 0);
    if (pid == 0) {
        char big[4096];
        memset(big, 'x', sizeof big);
        signal(SIGXFSZ, SIG_IGN);
        const bool is_right = partial_file_open(&f, p->path) == RC_OK && partial_file_append(&f, "1\n", 2) == RC_OK &&
                              setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 1024, 1024 }) == 0 &&
                              partial_file_append(&f, big, sizeof big) == RC_IO &&
                              partial_file_append(&f, "2\n", 2) == RC_OK;
        _exit(is_right ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_string_equal(text_of(p, p->partial), "1\n2\n");
}

/* base.G1: a crash of the machine does not lose its name, nor those of folders made for it. */
TEST(its_name_is_written)
{
    struct place *p = *state;
    struct atomic_file f;
    struct stat dir;
    char folder[96];

    assert_int_equal(stat(p->dir, &dir), 0);
    for (int i = 0; i < 4; i++) {
        n_synced_folders = 0;
        snprintf(folder, sizeof folder, "%s/made", p->dir);
        assert_int_equal(i == 0   ? partial_file_open(&f, p->path)
                         : i == 1 ? partial_file_commit(&f)
                         : i == 2 ? partial_file_reopen(&f, p->path)
                                  : file_make_folder(folder),
                         RC_OK);
        assert_int_equal(n_synced_folders, 1);
        assert_int_equal(synced_folder.st_ino, dir.st_ino);
        assert_int_equal(synced_folder.st_dev, dir.st_dev);
    }
    n_synced_folders = 0;
    assert_int_equal(file_make_folder(folder), RC_OK); /* it is there */
    assert_int_equal(n_synced_folders, 0);
    assert_int_equal(rmdir(folder), 0);
    partial_file_leave(&f);
}

/* Readable by whom the user's mask lets read. */
TEST(its_mode_is_the_users)
{
    struct place *p = *state;
    struct atomic_file f;
    struct stat about;
    const mode_t mask = umask(027);

    assert_int_equal(partial_file_open(&f, p->path), RC_OK);
    (void)umask(mask);
    assert_int_equal(stat(p->partial, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0640);
    partial_file_leave(&f);
}

UNIT_MAIN("partial_file")
