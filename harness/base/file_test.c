/* SPDX-License-Identifier: Apache-2.0 */
/* file_test.c - rights of files that are written, and what is refused where a file is read. */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/suite/unit.h"

struct place {
    char folder[32], path[64];
    mode_t mask; /* of the process, before */
};

static int open_place(void **state)
{
    static struct place p;

    p = (struct place){ .folder = "/tmp/file_test.XXXXXX" };
    if (!mkdtemp(p.folder))
        return -1;
    (void)snprintf(p.path, sizeof p.path, "%s/file", p.folder);
    p.mask = umask(022);
    *state = &p;
    return 0;
}

/* Nothing but `path` was left in the folder. */
static int close_place(void **state)
{
    const struct place *p = *state;

    (void)umask(p->mask);
    (void)unlink(p->path);
    return rmdir(p->folder);
}

static void write_file(const char *path, const char *text)
{
    struct atomic_file f;

    assert_int_equal(atomic_file_open(&f, path), RC_OK);
    assert_true(fputs(text, f.stream) >= 0);
    assert_int_equal(atomic_file_commit(&f), RC_OK);
}

static unsigned mode_of(const char *path)
{
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    return about.st_mode & 07777;
}

UNIT_TEST_WITH(new_files_have_the_rights_that_the_umask_leaves, open_place, close_place)
{
    static const mode_t masks[] = { 022, 077, 002, 027, 0 };
    const struct place *p = *state;

    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        (void)umask(masks[i]);
        write_file(p->path, "new");
        assert_int_equal(mode_of(p->path), 0666 & ~masks[i]);
        assert_int_equal(unlink(p->path), 0);
    }
}

UNIT_TEST_WITH(replaced_files_keep_their_mode, open_place, close_place)
{
    static const mode_t modes[] = { 0600, 0640, 0664, 0666, 0755, 0400 };
    const struct place *p = *state;
    struct atomic_file f;
    struct stat about;

    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        write_file(p->path, "old");
        assert_int_equal(chmod(p->path, modes[i]), 0);
        assert_int_equal(atomic_file_open(&f, p->path), RC_OK);
        assert_int_equal(fstat(fileno(f.stream), &about), 0);
        assert_int_equal(about.st_mode & 07777, modes[i]); /* while it is being written, too */
        assert_int_equal(atomic_file_commit(&f), RC_OK);
        assert_int_equal(mode_of(p->path), modes[i]);
        assert_int_equal(unlink(p->path), 0);
    }
}

static void text_of(char text[16], const char *path)
{
    FILE *from = NULL;

    assert_int_equal(file_open_regular(&from, path, "a text"), RC_OK);
    assert_non_null(fgets(text, 16, from));
    fclose(from);
}

/* A link stays one, and what it names is written, whether that exists or not. */
UNIT_TEST_WITH(links_are_followed, open_place, close_place)
{
    const struct place *p = *state;
    char link[80], next[80], text[16] = "", target[8] = "";
    struct atomic_file f;

    (void)snprintf(link, sizeof link, "%s/link", p->folder);
    (void)snprintf(next, sizeof next, "%s/next", p->folder);
    assert_int_equal(symlink("next", link), 0);
    assert_int_equal(symlink(p->path, next), 0);
    for (int i = 0; i < 2; i++) {
        write_file(link, i == 0 ? "new" : "newer");
        text_of(text, p->path);
        assert_string_equal(text, i == 0 ? "new" : "newer");
        assert_int_equal(readlink(link, target, sizeof target), 4);
    }
    assert_int_equal(unlink(next), 0);
    assert_int_equal(symlink("no/such/folder", next), 0);
    assert_int_equal(atomic_file_open(&f, link), RC_INVAL);
    assert_int_equal(unlink(next), 0);
    assert_int_equal(symlink("link", next), 0); /* a loop */
    assert_int_equal(atomic_file_open(&f, link), RC_INVAL);
    assert_int_equal(unlink(next) + unlink(link), 0);
}

UNIT_TEST_WITH(a_file_is_the_same_however_it_is_spelt, open_place, close_place)
{
    const struct place *p = *state;
    char other[80], link[80];

    (void)snprintf(link, sizeof link, "%s/link", p->folder);
    (void)snprintf(other, sizeof other, "%s/../%s/file", p->folder, strrchr(p->folder, '/') + 1);
    assert_int_equal(symlink("file", link), 0);
    for (int exists = 0; exists < 2; exists++) {
        if (exists)
            write_file(p->path, "x");
        assert_true(file_is_same(p->path, p->path));
        assert_true(file_is_same(p->path, other));
        assert_true(file_is_same(link, other));
        assert_true(file_is_in_folder(link, p->folder));
        assert_false(file_is_same(p->path, p->folder));
        assert_false(file_is_same(p->path, "file"));
        assert_false(file_is_in_folder("file", p->folder));
        assert_false(file_is_in_folder(p->folder, p->folder));
    }
    assert_false(file_is_same("/no/such/folder/x", "/no/such/folder/x")); /* no file can be there */
    assert_int_equal(unlink(link), 0);
}

/* Regression: a process that was killed while it wrote left PATH.XXXXXX behind. */
UNIT_TEST_WITH(a_file_that_is_being_written_has_no_name, open_place, close_place)
{
    const struct place *p = *state;
    const int fd = open(p->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char pattern[256];
    struct atomic_file f;
    glob_t found;

    if (fd < 0)
        skip(); /* a file system that has only files with names */
    assert_int_equal(close(fd), 0);
    assert_int_equal(atomic_file_open(&f, p->path), RC_OK);
    assert_true(fputs("half", f.stream) >= 0 && fflush(f.stream) == 0);
    snprintf(pattern, sizeof pattern, "%s.*", p->path);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
    atomic_file_discard(&f);
    assert_int_equal(atomic_file_open(&f, p->path), RC_OK);
    assert_int_equal(atomic_file_commit(&f), RC_OK);
    assert_int_equal(glob(pattern, 0, NULL, &found), GLOB_NOMATCH);
}

/* Two at once do not take each other's temporary file. */
UNIT_TEST_WITH(two_writers_of_one_path_end_one_after_the_other, open_place, close_place)
{
    const struct place *p = *state;
    struct atomic_file first, second;
    char text[16] = "";

    assert_int_equal(atomic_file_open(&first, p->path), RC_OK);
    assert_int_equal(atomic_file_open(&second, p->path), RC_OK);
    assert_string_not_equal(first.temporary_path, second.temporary_path);
    assert_true(fputs("first", first.stream) >= 0 && fputs("second", second.stream) >= 0);
    assert_int_equal(atomic_file_commit(&second), RC_OK);
    assert_int_equal(atomic_file_commit(&first), RC_OK);
    text_of(text, p->path);
    assert_string_equal(text, "first");
}

static bool is_closed_on_exec(FILE *f)
{
    const int flags = fcntl(fileno(f), F_GETFD);

    return flags >= 0 && flags & FD_CLOEXEC;
}

UNIT_TEST_WITH(programs_that_are_started_get_no_file, open_place, close_place)
{
    const struct place *p = *state;
    struct atomic_file f;
    FILE *from = NULL;

    assert_int_equal(atomic_file_open(&f, p->path), RC_OK);
    assert_true(is_closed_on_exec(f.stream));
    assert_int_equal(atomic_file_commit(&f), RC_OK);
    assert_int_equal(file_open_regular(&from, p->path, "a text"), RC_OK);
    assert_true(is_closed_on_exec(from));
    fclose(from);
}

static void write_bytes(const char *path, const void *bytes, size_t n_bytes)
{
    struct atomic_file f;

    assert_int_equal(atomic_file_open(&f, path), RC_OK);
    assert_int_equal(fwrite(bytes, 1, n_bytes, f.stream), n_bytes);
    assert_int_equal(atomic_file_commit(&f), RC_OK);
}

UNIT_TEST_WITH(a_byte_order_mark_is_no_text, open_place, close_place)
{
    static const char *const same[] = { "\xef\xbb\xbf"
                                        "ab",
                                        "ab" };
    const struct place *p = *state;
    FILE *from = NULL;

    for (int i = 0; i < 2; i++) {
        char text[16] = "";
        write_bytes(p->path, same[i], strlen(same[i]));
        assert_int_equal(file_open_text(&from, p->path, "a text"), RC_OK);
        assert_non_null(fgets(text, sizeof text, from));
        assert_string_equal(text, "ab");
        fclose(from);
    }
    write_bytes(p->path, "", 0);
    assert_int_equal(file_open_text(&from, p->path, "a text"), RC_OK);
    assert_int_equal(getc(from), EOF);
    fclose(from);
    for (int i = 0; i < 2; i++) {
        write_bytes(p->path, i ? "\xff\xfe\0a" : "\xfe\xff\0a", 4);
        assert_int_equal(file_open_text(&from, p->path, "a text"), RC_INVAL);
        assert_non_null(strstr(rc_message(), ": cannot be read: is UTF-16; save it as UTF-8"));
    }
    assert_int_equal(unlink(p->path), 0);
}

/* Path `path` is refused, and the message says so. */
static void refuse(const char *path, const char *what)
{
    FILE *from = NULL;
    char wanted[160];

    (void)snprintf(wanted, sizeof wanted, "%s: cannot be read: %s", path, what);
    assert_int_equal(file_open_regular(&from, path, "a text that --write wrote"), RC_INVAL);
    assert_string_equal(rc_message(), wanted);
    assert_null(from);
}

/* None of them is waited for. */
UNIT_TEST_WITH(what_is_no_file_is_refused, open_place, close_place)
{
    const struct place *p = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    refuse(p->path, "No such file or directory");
    refuse(p->folder, "Is a directory");
    refuse("/dev/zero", "is a device, not a regular file; name a text that --write wrote");
    assert_int_equal(mkfifo(p->path, 0600), 0);
    refuse(p->path, "is a pipe, not a regular file; name a text that --write wrote");
    assert_int_equal(unlink(p->path), 0);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", p->path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    refuse(p->path, "is not a regular file; name a text that --write wrote");
    close(fd);
}

UNIT_TEST_WITH(the_option_comes_before_the_message, open_place, close_place)
{
    const struct place *p = *state;
    char wanted[160];

    assert_int_equal(file_of_option(RC_OK, "save"), RC_OK);
    (void)snprintf(wanted, sizeof wanted, "--save %s: is a folder, not a file that can be replaced", p->folder);
    assert_int_equal(file_of_option(file_check_writable(p->folder), "save"), RC_INVAL);
    assert_string_equal(rc_message(), wanted);
}

UNIT_MAIN("files")
