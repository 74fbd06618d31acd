/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - atomic replacement of files. */
#include "harness/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void clear(struct atomic_file *f)
{
    free(f->path);
    free(f->temporary_path);
    *f = (struct atomic_file){ 0 };
}

enum rc atomic_file_open(struct atomic_file *out, const char *path)
{
    struct atomic_file f = { 0 };
    struct stat about;
    enum rc rc = RC_OK;
    int fd = -1;

    *out = f;
    if (path[0] == '\0')
        return rc_raise(RC_INVAL, "an empty file name cannot be written");
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return rc_raise(RC_INVAL, "%s: is a %s, not a file that can be replaced", path,
                        S_ISDIR(about.st_mode) ? "folder" : "device, pipe or socket");
    f.path = realpath(path, NULL); /* a link stays, what it points to is replaced */
    if (!f.path)
        f.path = strdup(path);
    if (!f.path || asprintf(&f.temporary_path, "%s.XXXXXX", f.path) < 0)
        f.temporary_path = NULL;
    if (!f.path || !f.temporary_path)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    fd = mkstemp(f.temporary_path);
    if (fd < 0)
        FAIL(RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    (void)fchmod(fd, 0644); /* mkstemp's 0600 would hide results from colleagues */
    f.stream = fdopen(fd, "w");
    if (!f.stream)
        FAIL(RC_NOMEM, "%s: no memory for a stream", path);
    *out = f;
out:
    if (rc != RC_OK) {
        if (fd >= 0) {
            close(fd);
            unlink(f.temporary_path);
        }
        clear(&f);
    }
    return rc;
}

/* The rename itself must survive a crash: sync the folder that holds the name. Best effort: not every
 * file system can. */
static void sync_folder_of(char *path)
{
    const int fd = open(dirname(path), O_RDONLY | O_DIRECTORY);

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
}

enum rc atomic_file_commit(struct atomic_file *f)
{
    enum rc rc = RC_OK;

    if (fflush(f->stream) != 0 || ferror(f->stream) || fsync(fileno(f->stream)) != 0)
        FAIL(RC_IO, "%s: write failed: %s", f->path, strerror(errno));
    const int closed = fclose(f->stream);
    f->stream = NULL;
    if (closed != 0)
        FAIL(RC_IO, "%s: write failed: %s", f->path, strerror(errno));
    if (rename(f->temporary_path, f->path) != 0)
        FAIL(RC_IO, "%s: cannot be put in place: %s", f->path, strerror(errno));
    sync_folder_of(f->path);
    clear(f);
out:
    if (rc != RC_OK)
        atomic_file_discard(f);
    return rc;
}

void atomic_file_discard(struct atomic_file *f)
{
    if (f->stream)
        fclose(f->stream);
    if (f->temporary_path)
        unlink(f->temporary_path);
    clear(f);
}

enum rc file_check_writable(const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc = RC_OK;

    if (path[0] != '\0')
        TRY(atomic_file_open(&file, path));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc file_make_folder(const char *path)
{
    char *part = NULL;
    enum rc rc = RC_OK;

    if (path[0] == '\0')
        return rc_raise(RC_INVAL, "an empty folder name cannot be made");
    part = strdup(path);
    if (!part)
        return rc_raise(RC_NOMEM, "%s: no memory for its name", path);
    for (char *slash = part;;) {
        slash = strchr(slash + 1, '/');
        if (slash)
            *slash = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            FAIL(RC_INVAL, "%s: cannot make folder %s: %s", path, part, strerror(errno));
        if (!slash)
            break;
        *slash = '/';
    }
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode))
        FAIL(RC_INVAL, "%s: is not a folder", path);
out:
    free(part);
    return rc;
}
