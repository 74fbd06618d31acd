/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c - atomic making of folders. */
#include "harness/base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/file.h"

enum rc folder_lock(int *fd, const char *path)
{
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return rc_raise(RC_INVAL, "%s: %s", path, strerror(errno));
    if (flock(*fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(*fd);
        *fd = -1;
        return rc_raise(RC_INVAL, "%s: another process is writing into it", path);
    }
    return RC_OK;
}

static void clear(struct atomic_folder *f)
{
    free(f->path);
    free(f->temporary_path);
    free(f->made_path);
    *f = (struct atomic_folder){ .path = NULL };
}

/* Those above path; what is in the way is named. */
static enum rc make_parents(struct atomic_folder *f)
{
    char *copy = strdup(f->path), *above;
    struct stat there;
    enum rc rc = RC_OK;

    if (copy == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", f->path);
    for (above = dirname(copy); stat(above, &there) != 0 && errno == ENOENT; above = dirname(above)) {
        free(f->made_path);
        f->made_path = strdup(above);
        if (f->made_path == NULL)
            FAIL(RC_NOMEM, "%s: no memory for its name", f->path);
    }
    free(copy);
    copy = strdup(f->path);
    if (copy == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", f->path);
    TRY(file_make_folder(dirname(copy)));
out:
    free(copy);
    return rc;
}

/* From the lowest up to the first; one that holds anything stays, and with it those above. */
static void remove_parents(struct atomic_folder *f)
{
    char *above = f->path;

    while (f->made_path != NULL && strcmp(above, f->made_path) != 0) {
        above = dirname(above); /* shortens f->path, which nobody needs any more */
        if (rmdir(above) != 0 && errno != ENOENT)
            return;
    }
}

static enum rc make_temporary(struct atomic_folder *f, mode_t mode)
{
    free(f->temporary_path);
    if (asprintf(&f->temporary_path, "%s.partial-XXXXXX", f->path) < 0) {
        f->temporary_path = NULL;
        return rc_raise(RC_NOMEM, "%s: no memory for its name", f->path);
    }
    if (mkdtemp(f->temporary_path) == NULL) {
        const int error = errno;
        free(f->temporary_path);
        f->temporary_path = NULL;
        return rc_raise(RC_INVAL, "%s: no folder can be made beside it: %s", f->path, strerror(error));
    }
    (void)chmod(f->temporary_path, mode); /* mkdtemp's 0700 would hide results from colleagues */
    return RC_OK;
}

/* The mode of what is at path, else that of a new folder. */
static mode_t mode_of(const struct stat *there)
{
    if (there != NULL)
        return there->st_mode & 07777;
    const mode_t mask = umask(0);
    (void)umask(mask);
    return 0777 & ~mask;
}

enum rc atomic_folder_open(struct atomic_folder *out, const char *path)
{
    struct atomic_folder f = { .path = realpath(path, NULL) }; /* a link stays, what it points to is replaced */
    const bool is_there = f.path != NULL;
    struct stat there, here;
    enum rc rc = RC_OK;

    *out = (struct atomic_folder){ .path = NULL };
    if (path[0] == '\0')
        FAIL(RC_INVAL, "an empty folder name cannot be made");
    if (!is_there)
        f.path = strdup(path);
    if (f.path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    for (size_t n = strlen(f.path); n > 1 && f.path[n - 1] == '/'; n--)
        f.path[n - 1] = '\0';
    if (!is_there && lstat(f.path, &there) == 0)
        FAIL(RC_INVAL, "%s: is a link to nothing", path);
    if (is_there && (stat(f.path, &there) != 0 || stat(".", &here) != 0))
        FAIL(RC_INVAL, "%s: %s", path, strerror(errno));
    if (is_there && !S_ISDIR(there.st_mode))
        FAIL(RC_INVAL, "%s: is there already, and is no folder; name another", path);
    if (is_there && there.st_dev == here.st_dev && there.st_ino == here.st_ino)
        FAIL(RC_INVAL, "%s: is the folder this runs in, which cannot be replaced; name one in it", path);
    TRY(make_parents(&f));
    TRY(make_temporary(&f, mode_of(is_there ? &there : NULL)));
    if (is_there) { /* replace the empty folder by an empty one: an obstacle to the last rename is found now */
        const int error = rename(f.temporary_path, f.path) != 0 ? errno : 0;
        if (error == ENOTEMPTY || error == EEXIST)
            FAIL(RC_INVAL, "%s: has files in it, which stay; name another folder, or empty this one", path);
        if (error != 0)
            FAIL(RC_INVAL, "%s: cannot be replaced: %s", path, strerror(error));
        TRY(make_temporary(&f, mode_of(&there)));
    }
    *out = f;
    f = (struct atomic_folder){ .path = NULL };
out:
    atomic_folder_discard(&f);
    return rc;
}

static void remove_files(const char *folder)
{
    DIR *dir = opendir(folder);

    if (dir == NULL)
        return;
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        (void)unlinkat(dirfd(dir), entry->d_name, 0); /* fails for . and .. */
    (void)closedir(dir);
}

struct leftover { /* "PATH.partial" of a process before this one */
    char *path;
    int lock; /* of its first file, a descriptor; -1: it is not there, or empty */
};

static bool is_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    while (dir != NULL && readdir(dir) != NULL)
        n++;
    if (dir != NULL)
        closedir(dir);
    return n == 2; /* . and .. */
}

static void leftover_close(struct leftover *l)
{
    if (l->lock >= 0)
        close(l->lock);
    free(l->path);
    *l = (struct leftover){ .lock = -1 };
}

/* RC_INVAL: it cannot be replaced. path: as the user gave it. */
static enum rc leftover_open(struct leftover *out, const struct atomic_folder *f, const char *path, const char *first,
                             const char *plan)
{
    struct leftover l = { .lock = -1 };
    struct stat about;
    char *name = NULL;
    enum rc rc = RC_OK;

    *out = l;
    if (asprintf(&l.path, "%s.partial", f->path) < 0) {
        l.path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    }
    if ((lstat(l.path, &about) != 0 && errno == ENOENT) || is_empty(l.path))
        goto found;
    if (asprintf(&name, "%s/%s", l.path, first) < 0) {
        name = NULL;
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    }
    l.lock = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (l.lock >= 0 && flock(l.lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        FAIL(RC_INVAL, "%s: another process is writing into %s", path, l.path);
    free(name);
    if (asprintf(&name, "%s/%s", l.path, plan) < 0) {
        name = NULL;
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    }
    if (l.lock < 0 || fstat(l.lock, &about) != 0 || about.st_size > 0 || access(name, F_OK) == 0)
        FAIL(RC_INVAL, "%s: %s is in the way; --continue %s continues what is there, or remove it", path, l.path, path);
found:
    *out = l;
    l = (struct leftover){ .lock = -1 };
out:
    free(name);
    leftover_close(&l);
    return rc;
}

enum rc atomic_folder_open_partial(struct atomic_folder *out, const char *path, const char *first, const char *plan)
{
    struct atomic_folder f = { .path = NULL };
    struct leftover before = { .lock = -1 };
    enum rc rc;

    *out = f;
    TRY(atomic_folder_open(&f, path));
    TRY(leftover_open(&before, &f, path, first, plan));
    if (before.lock >= 0)
        remove_files(before.path);
    if (rename(f.temporary_path, before.path) != 0) /* replaces an empty folder */
        FAIL(RC_INVAL, "%s: %s is in the way: %s; --continue %s continues what is there, or remove it", path,
             before.path, strerror(errno), path);
    free(f.temporary_path);
    f.temporary_path = before.path;
    before.path = NULL;
    *out = f;
    f = (struct atomic_folder){ .path = NULL };
out:
    leftover_close(&before);
    atomic_folder_discard(&f);
    return rc;
}

enum rc atomic_folder_check(const char *path, const char *first, const char *plan)
{
    struct atomic_folder f = { .path = NULL };
    struct leftover before = { .lock = -1 };
    enum rc rc;

    TRY(atomic_folder_open(&f, path));
    if (first)
        TRY(leftover_open(&before, &f, path, first, plan));
out:
    leftover_close(&before);
    atomic_folder_discard(&f);
    return rc;
}

enum rc atomic_folder_reopen_partial(struct atomic_folder *out, const char *path)
{
    struct atomic_folder f = { .path = realpath(path, NULL) };
    struct stat there;
    enum rc rc = RC_OK;

    *out = (struct atomic_folder){ .path = NULL };
    if (f.path != NULL && rmdir(f.path) != 0) /* an empty one would be replaced anyway */
        FAIL(RC_INVAL, "%s: cannot be replaced: %s; %s.partial stays", path, strerror(errno), path);
    if (f.path == NULL)
        f.path = strdup(path);
    if (f.path == NULL)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    for (size_t n = strlen(f.path); n > 1 && f.path[n - 1] == '/'; n--)
        f.path[n - 1] = '\0';
    if (asprintf(&f.temporary_path, "%s.partial", f.path) < 0) {
        f.temporary_path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    }
    if (stat(f.temporary_path, &there) != 0)
        FAIL(RC_INVAL, "%s: %s", f.temporary_path, strerror(errno));
    *out = f;
    f = (struct atomic_folder){ .path = NULL };
out:
    clear(&f);
    return rc;
}

const char *folder_for_temporary(void)
{
    const char *given = getenv("TMPDIR");

    return given && given[0] ? given : "/tmp";
}

enum rc folder_refuse_temporary(int error)
{
    const char *given = getenv("TMPDIR");

    if (given && given[0])
        return rc_raise(RC_INVAL, "TMPDIR %.200s: no folder can be made there: %s; name another one", given,
                        strerror(error));
    return rc_raise(RC_INVAL, "%s: no folder can be made there: %s; set TMPDIR to one that can be written",
                    folder_for_temporary(), strerror(error));
}

enum rc atomic_folder_open_temporary(struct atomic_folder *out, const char *name)
{
    const char *parent = folder_for_temporary();
    struct atomic_folder f = { .path = NULL };
    enum rc rc = RC_OK;

    *out = f;
    if (asprintf(&f.temporary_path, "%s/gradmark-%s-XXXXXX", parent, name) < 0) {
        f.temporary_path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for the name of a folder", parent);
    }
    if (!mkdtemp(f.temporary_path)) { /* mode 0700 */
        const int error = errno;
        free(f.temporary_path);
        f.temporary_path = NULL;
        TRY(folder_refuse_temporary(error));
    }
    *out = f;
    return RC_OK;
out:
    clear(&f);
    return rc;
}

enum rc atomic_folder_commit(struct atomic_folder *f)
{
    enum rc rc = RC_OK;

    if (rename(f->temporary_path, f->path) != 0)
        FAIL(RC_IO, "%s: cannot be put in place: %s", f->path, strerror(errno));
    const int fd = open(dirname(f->temporary_path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) { /* the rename must survive a crash; best effort: not every file system can */
        (void)fsync(fd);
        (void)close(fd);
    }
    clear(f);
out:
    atomic_folder_discard(f);
    return rc;
}

void atomic_folder_discard(struct atomic_folder *f)
{
    if (f->temporary_path != NULL && !f->stays) {
        remove_files(f->temporary_path);
        (void)rmdir(f->temporary_path);
    }
    if (!f->stays)
        remove_parents(f);
    clear(f);
}

enum rc folder_make_dated(char *out, size_t n_bytes, const char *parent, const char *name)
{
    enum { MAX_TRIES = 1000 };
    const time_t now = time(NULL);
    struct tm local;
    char date[16];

    strftime(date, sizeof date, "%Y-%m-%d", localtime_r(&now, &local));
    for (int i = 1; i < MAX_TRIES; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        const int n_chars = snprintf(out, n_bytes, "%s/%s-%s%s", parent, date, name, suffix);
        if (n_chars < 0 || (size_t)n_chars >= n_bytes)
            return rc_raise(RC_INVAL, "%.200s...: is too long a name for the folder of a campaign: %d letters, %zu fit",
                            out, n_chars, n_bytes - 1);
        if (mkdir(out, 0777) == 0) {
            file_sync_folder_of(out);
            return RC_OK;
        }
        if (errno != EEXIST)
            return rc_raise(RC_INVAL, "%s: cannot be made: %s", out, strerror(errno));
    }
    return rc_raise(RC_INVAL, "%s: exists, and so do %d more of that name", out, MAX_TRIES);
}

enum rc folder_check_dated(char *out, size_t n_bytes, const char *parent, const char *name)
{
    struct atomic_folder f = { .path = NULL };
    enum rc rc = RC_OK;

    if (asprintf(&f.path, "%s/%s", parent, name) < 0) {
        f.path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for its name", parent);
    }
    TRY(make_parents(&f));
    TRY(folder_make_dated(out, n_bytes, parent, name));
    (void)rmdir(out);
out:
    if (f.path)
        remove_parents(&f);
    clear(&f);
    return rc;
}

enum rc folder_make_empty(const char *path)
{
    const struct dirent *entry;
    DIR *dir = NULL;
    enum rc rc;

    TRY(file_make_folder(path));
    dir = opendir(path);
    if (!dir)
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            FAIL(RC_INVAL, "%s: has files in it, which stay; name another folder, or empty this one", path);
out:
    if (dir)
        closedir(dir);
    return rc;
}
