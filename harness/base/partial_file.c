/* SPDX-License-Identifier: Apache-2.0 */
/*
 * partial_file.c - a file that grows by whole pieces over hours, and is put in place at the end; see partial_file.h.
 */
#include "harness/base/partial_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum rc name_it(struct atomic_file *f, const char *path)
{
    *f = (struct atomic_file){ .path = strdup(path) };
    if (!f->path || asprintf(&f->temporary_path, "%s.partial", path) < 0)
        f->temporary_path = NULL;
    return f->path && f->temporary_path ? RC_OK : rc_raise(RC_NOMEM, "%s: no memory for its name", path);
}

/* Open temporary_path. */
static enum rc open_it(struct atomic_file *f, int flags)
{
    const int fd = open(f->temporary_path, O_RDWR | O_CLOEXEC | flags, 0666);

    if (fd < 0)
        return rc_raise(RC_INVAL, "%s: cannot be written: %s", f->temporary_path, strerror(errno));
    /* base.G3; where there are no locks, nobody is asked */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        close(fd);
        return rc_raise(RC_INVAL, "%s: another process is writing it", f->temporary_path);
    }
    f->stream = fdopen(fd, "r+");
    if (!f->stream) {
        close(fd);
        return rc_raise(RC_NOMEM, "%s: no memory for a stream", f->temporary_path);
    }
    return RC_OK;
}

enum rc partial_file_open(struct atomic_file *out, const char *path)
{
    struct atomic_file f = { 0 };
    enum rc rc;

    *out = (struct atomic_file){ 0 };
    TRY(name_it(&f, path));
    TRY(open_it(&f, O_CREAT | O_EXCL));
    file_sync_folder_of(f.temporary_path);
    *out = f;
    f = (struct atomic_file){ 0 };
out:
    partial_file_leave(&f);
    return rc;
}

static bool is_there(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0;
}

enum rc partial_file_reopen(struct atomic_file *out, const char *path)
{
    struct atomic_file f = { 0 };
    enum rc rc;

    *out = (struct atomic_file){ 0 };
    TRY(name_it(&f, path));
    const bool is_whole = is_there(path), is_partial = is_there(f.temporary_path);
    if (is_whole && is_partial)
        FAIL(RC_INVAL, "%s: is there, and so is %s; which of them is right, only you can know: move the other away",
             path, f.temporary_path);
    if (!is_whole && !is_partial)
        FAIL(RC_INVAL, "%s: is not there, nor is %s", path, f.temporary_path);
    if (is_whole && rename(path, f.temporary_path) != 0)
        FAIL(RC_INVAL, "%s: cannot be renamed: %s", path, strerror(errno));
    if (is_whole)
        file_sync_folder_of(path);
    TRY(open_it(&f, 0));
    *out = f;
    f = (struct atomic_file){ 0 };
out:
    partial_file_leave(&f);
    return rc;
}

enum rc partial_file_cut(struct atomic_file *f, uint64_t n_bytes)
{
    if (ftruncate(fileno(f->stream), (off_t)n_bytes) != 0 || fsync(fileno(f->stream)) != 0)
        return rc_raise(RC_IO, "%s: cannot be cut: %s", f->temporary_path, strerror(errno));
    return RC_OK;
}

static bool write_all(int fd, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        const ssize_t n_written = write(fd, bytes, n_bytes);
        if (n_written < 0 && errno == EINTR)
            continue;
        if (n_written <= 0)
            return false;
        bytes += n_written;
        n_bytes -= (size_t)n_written;
    }
    return true;
}

/* A second name for the file as it is. */
static enum rc set_aside(const struct atomic_file *f, char *name, size_t n_bytes)
{
    enum { MAX_TRIES = 100 };

    for (int i = 1; i < MAX_TRIES; i++) {
        char suffix[16] = "";
        if (i > 1)
            snprintf(suffix, sizeof suffix, "-%d", i);
        const int n_chars = snprintf(name, n_bytes, "%s.damaged%s", f->path, suffix);
        if (n_chars > 0 && (size_t)n_chars < n_bytes && link(f->temporary_path, name) == 0)
            return RC_OK;
        if (errno != EEXIST)
            break;
    }
    return rc_raise(RC_IO, "%s: cannot be kept as %s: %s", f->temporary_path, name, strerror(errno));
}

enum rc partial_file_replace(struct atomic_file *f, const char *bytes, size_t n_bytes, char *aside,
                             size_t n_aside_bytes)
{
    struct atomic_file kept = { .path = NULL };
    struct stat about;
    enum rc rc = RC_OK;

    if (asprintf(&kept.temporary_path, "%s.new", f->temporary_path) < 0) {
        kept.temporary_path = NULL;
        FAIL(RC_NOMEM, "%s: no memory for a name", f->temporary_path);
    }
    (void)unlink(kept.temporary_path); /* of a process that was killed here: this one has the lock (base.G3) */
    TRY(open_it(&kept, O_CREAT | O_EXCL));
    const int to = fileno(kept.stream);
    if (fstat(fileno(f->stream), &about) != 0 || fchmod(to, about.st_mode & 0777) != 0 ||
        !write_all(to, bytes, n_bytes) || fsync(to) != 0)
        FAIL(RC_IO, "%s: write failed: %s%s", kept.temporary_path, strerror(errno), file_write_remedy(errno));
    TRY(set_aside(f, aside, n_aside_bytes));
    if (rename(kept.temporary_path, f->temporary_path) != 0)
        FAIL(RC_IO, "%s: cannot be replaced: %s", f->temporary_path, strerror(errno));
    file_sync_folder_of(f->temporary_path);
    fclose(f->stream);
    f->stream = kept.stream;
    kept.stream = NULL;
out:
    atomic_file_discard(&kept); /* finds nothing of that name where it is in place */
    return rc;
}

enum rc partial_file_append(struct atomic_file *f, const char *bytes, size_t n_bytes)
{
    const int fd = fileno(f->stream);
    const off_t end = lseek(fd, 0, SEEK_END);

    if (end < 0 || !write_all(fd, bytes, n_bytes) || fsync(fd) != 0) {
        const int error = errno;
        if (end >= 0)
            (void)!ftruncate(fd, end);
        return rc_raise(RC_IO, "%s: write failed: %s%s", f->temporary_path, strerror(error), file_write_remedy(error));
    }
    return RC_OK;
}

enum rc partial_file_commit(struct atomic_file *f)
{
    enum rc rc = RC_OK;

    if (fsync(fileno(f->stream)) != 0)
        FAIL(RC_IO, "%s: write failed: %s%s", f->temporary_path, strerror(errno), file_write_remedy(errno));
    if (rename(f->temporary_path, f->path) != 0)
        FAIL(RC_IO, "%s: cannot be put in place: %s; %s holds it", f->path, strerror(errno), f->temporary_path);
    file_sync_folder_of(f->path);
out:
    partial_file_leave(f);
    return rc;
}

void partial_file_leave(struct atomic_file *f)
{
    if (f->stream)
        fclose(f->stream);
    free(f->path);
    free(f->temporary_path);
    *f = (struct atomic_file){ 0 };
}
