/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - atomic replacement of files, and reading of regular ones. */
#include "harness/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_SUFFIX_CHARS = 6 };

static void clear(struct atomic_file *f)
{
    free(f->path);
    free(f->temporary_path);
    *f = (struct atomic_file){ 0 };
}

/* Put random characters into the last N_SUFFIX_CHARS of name. */
static void choose_suffix(char *name)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const size_t n_chars = strlen(name);
    unsigned char byte[N_SUFFIX_CHARS];

    if (getrandom(byte, sizeof byte, 0) != (ssize_t)sizeof byte)
        memset(byte, 0, sizeof byte); /* the next name is tried only if this one is taken */
    for (size_t i = 0; i < sizeof byte; i++)
        name[n_chars - sizeof byte + i] = alphabet[byte[i] % (sizeof alphabet - 1)];
}

/* Make the file f->temporary_path, whose last characters are chosen here. Unlike mkstemp(), the kernel applies the
 * umask of the process and the default rights of the folder; a file that is to replace another one begins closed to
 * others.
 */
static int make_temporary(struct atomic_file *f, bool replaces)
{
    enum { MAX_TRIES = 100 };
    int fd = -1;

    for (int i = 0; i < MAX_TRIES && fd < 0 && (i == 0 || errno == EEXIST); i++) {
        choose_suffix(f->temporary_path);
        fd = open(f->temporary_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, replaces ? 0600 : 0666);
    }
    return fd;
}

/* A file without a name in the folder of f->path. -1: its file system has none, as NFS. */
static int make_nameless(const struct atomic_file *f, bool replaces)
{
    char *copy = strdup(f->path);
    const bool can_be_named = copy && access("/proc/self/fd", X_OK) == 0;
    const int fd = can_be_named ? open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, replaces ? 0600 : 0666) : -1;

    free(copy);
    return fd;
}

/* Give the nameless file f->temporary_path. false, with errno */
static bool name_temporary(struct atomic_file *f)
{
    enum { MAX_TRIES = 100 };
    char link[64];
    int linked = -1;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fileno(f->stream));
    for (int i = 0; i < MAX_TRIES && linked != 0 && (i == 0 || errno == EEXIST); i++) {
        choose_suffix(f->temporary_path);
        linked = linkat(AT_FDCWD, link, AT_FDCWD, f->temporary_path, AT_SYMLINK_FOLLOW);
    }
    f->is_nameless = linked != 0;
    return linked == 0;
}

/* Group and mode of the file that is replaced; the group where this user may set it. Without it the mode's rights of
 * the group would be those of another one, so they are not given. */
static void keep_mode(int fd, const struct stat *replaced)
{
    const bool has_group = fchown(fd, (uid_t)-1, replaced->st_gid) == 0;

    (void)fchmod(fd, replaced->st_mode & (has_group ? 0777 : 0707));
}

/* path := the path that the link there names; false, with errno: nothing more to follow. */
static bool follow_link(char path[PATH_MAX])
{
    char target[PATH_MAX];
    const ssize_t n_bytes = readlink(path, target, sizeof target - 1);
    const char *slash = strrchr(path, '/');
    const size_t n_folder = slash ? (size_t)(slash - path) + 1 : 0;

    if (n_bytes < 0)
        return false;
    target[n_bytes] = '\0';
    if (target[0] == '/')
        memcpy(path, target, (size_t)n_bytes + 1);
    else if (n_folder + (size_t)n_bytes < PATH_MAX)
        memcpy(path + n_folder, target, (size_t)n_bytes + 1);
    else
        return false;
    return true;
}

char *file_target(const char *path)
{
    enum { MAX_LINKS = 40 }; /* as many as Linux follows */
    char at[PATH_MAX], *target = NULL;

    if (strlen(path) >= sizeof at) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(at, path, strlen(path) + 1);
    for (int i = 0; i < MAX_LINKS; i++) {
        target = realpath(at, NULL);
        if (target || errno != ENOENT)
            return target;
        if (!follow_link(at))
            break;
    }
    char *slash = strrchr(at, '/'), *name = slash ? slash + 1 : at, *whole = NULL;
    if (name[0] == '\0' || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        errno = ENOENT;
        return NULL;
    }
    if (slash == at)
        return strdup(at);
    if (slash)
        *slash = '\0';
    target = realpath(slash ? at : ".", NULL);
    if (target && asprintf(&whole, "%s/%s", strcmp(target, "/") == 0 ? "" : target, name) < 0)
        whole = NULL;
    free(target);
    return whole;
}

bool file_is_same(const char *a, const char *b)
{
    struct stat of_a, of_b;
    const bool has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;

    if (has_a || has_b)
        return has_a && has_b && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
    char *target_a = file_target(a), *target_b = file_target(b);
    const bool is_same = target_a && target_b && strcmp(target_a, target_b) == 0;
    free(target_a);
    free(target_b);
    return is_same;
}

bool file_is_in_folder(const char *path, const char *folder)
{
    struct stat of_parent, of_folder;
    char *target = file_target(path);
    const bool is_in = target && strcmp(target, "/") != 0 && stat(folder, &of_folder) == 0 &&
                       stat(dirname(target), &of_parent) == 0 && of_parent.st_dev == of_folder.st_dev &&
                       of_parent.st_ino == of_folder.st_ino;

    free(target);
    return is_in;
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
    const bool replaces = stat(path, &about) == 0;
    if (replaces && !S_ISREG(about.st_mode))
        return rc_raise(RC_INVAL, "%s: is a %s, not a file that can be replaced", path,
                        S_ISDIR(about.st_mode) ? "folder" : "device, pipe or socket");
    f.path = file_target(path); /* a link stays, what it points to is replaced, or made */
    if (!f.path)
        FAIL(errno == ENOMEM ? RC_NOMEM : RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    if (asprintf(&f.temporary_path, "%s.XXXXXX", f.path) < 0)
        f.temporary_path = NULL;
    if (!f.temporary_path)
        FAIL(RC_NOMEM, "%s: no memory for its name", path);
    choose_suffix(f.temporary_path);
    fd = make_nameless(&f, replaces);
    f.is_nameless = fd >= 0;
    if (fd < 0)
        fd = make_temporary(&f, replaces);
    if (fd < 0)
        FAIL(RC_INVAL, "%s: cannot be written: %s", path, strerror(errno));
    if (replaces)
        keep_mode(fd, &about);
    f.stream = fdopen(fd, "w");
    if (!f.stream)
        FAIL(RC_NOMEM, "%s: no memory for a stream", path);
    *out = f;
out:
    if (rc != RC_OK) {
        if (fd >= 0) {
            close(fd);
            if (!f.is_nameless)
                unlink(f.temporary_path);
        }
        clear(&f);
    }
    return rc;
}

/* Best effort: not every file system can. */
void file_sync_folder_of(const char *path)
{
    char *copy = strdup(path);
    const int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    free(copy);
}

const char *file_write_remedy(int error)
{
    switch (error) {
    case EFBIG:
        return "; raise the limit of a file's size (ulimit -f)";
    case ENOSPC:
    case EDQUOT:
        return "; free space there, or use another folder";
    default:
        return "";
    }
}

enum rc atomic_file_commit(struct atomic_file *f)
{
    enum rc rc = RC_OK;

    if (fflush(f->stream) != 0 || ferror(f->stream) || fsync(fileno(f->stream)) != 0)
        FAIL(RC_IO, "%s: write failed: %s%s", f->path, strerror(errno), file_write_remedy(errno));
    if (f->is_nameless && !name_temporary(f))
        FAIL(RC_IO, "%s: cannot be put in place: %s", f->path, strerror(errno));
    const int closed = fclose(f->stream);
    f->stream = NULL;
    if (closed != 0)
        FAIL(RC_IO, "%s: write failed: %s%s", f->path, strerror(errno), file_write_remedy(errno));
    if (rename(f->temporary_path, f->path) != 0)
        FAIL(RC_IO, "%s: cannot be put in place: %s", f->path, strerror(errno));
    file_sync_folder_of(f->path);
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
    if (f->temporary_path && !f->is_nameless)
        unlink(f->temporary_path);
    clear(f);
}

enum rc atomic_file_finish(struct atomic_file *f, enum rc rc)
{
    if (rc == RC_OK)
        return atomic_file_commit(f);
    atomic_file_discard(f);
    return rc;
}

void file_first_line(char *out, size_t n_bytes, const char *root, const char *path)
{
    char whole[512];

    out[0] = '\0';
    (void)snprintf(whole, sizeof whole, "%s%s", root, path);
    FILE *from = fopen(whole, "re");
    if (!from)
        return;
    if (!fgets(out, (int)n_bytes, from))
        out[0] = '\0';
    (void)fclose(from);
    out[strcspn(out, "\n")] = '\0';
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

enum rc file_check_new(const char *path, bool replaces)
{
    struct stat about;

    if (!replaces && path[0] != '\0' && lstat(path, &about) == 0 && !S_ISDIR(about.st_mode))
        return rc_raise(RC_INVAL, "%s: is there already, and is not overwritten without --force", path);
    return RC_OK;
}

static const char *kind_text(mode_t mode)
{
    return S_ISFIFO(mode) ? "is a pipe, " : S_ISSOCK(mode) ? "is a socket, " : "is a device, ";
}

/* O_NONBLOCK: opening a pipe without a writer, or some devices, would wait. It changes nothing of a regular file. */
enum rc file_open_regular(FILE **out, const char *path, const char *wanted)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat about;
    enum rc rc = RC_OK;

    if (fd < 0 && errno == ENXIO) /* a socket, or a device without a driver */
        FAIL(RC_INVAL, "%s: cannot be read: is not a regular file; name %s", path, wanted);
    if (fd < 0 || fstat(fd, &about) != 0)
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(EISDIR));
    if (!S_ISREG(about.st_mode))
        FAIL(RC_INVAL, "%s: cannot be read: %snot a regular file; name %s", path, kind_text(about.st_mode), wanted);
    *out = fdopen(fd, "r");
    if (!*out)
        FAIL(RC_NOMEM, "%s: no memory for a stream", path);
    fd = -1;
out:
    if (fd >= 0)
        close(fd);
    return rc;
}

enum rc file_open_text(FILE **out, const char *path, const char *wanted)
{
    char begin[3] = "";
    FILE *from = NULL;
    enum rc rc;

    TRY(file_open_regular(&from, path, wanted));
    const size_t n_bytes = fread(begin, 1, sizeof begin, from);
    if (ferror(from))
        FAIL(RC_INVAL, "%s: cannot be read: %s", path, strerror(errno));
    if (n_bytes >= 2 && (memcmp(begin, "\xff\xfe", 2) == 0 || memcmp(begin, "\xfe\xff", 2) == 0))
        FAIL(RC_INVAL, "%s: cannot be read: is UTF-16; save it as UTF-8", path);
    if (n_bytes < 3 || memcmp(begin, "\xef\xbb\xbf", 3) != 0)
        rewind(from);
    *out = from;
    from = NULL;
out:
    if (from)
        fclose(from);
    return rc;
}

enum rc file_of_option(enum rc rc, const char *option)
{
    return rc_prefix(rc, "--%s ", option);
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
        if (mkdir(part, 0777) == 0)
            file_sync_folder_of(part);
        else if (errno != EEXIST)
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

enum rc output_silence(FILE **stream, FILE **before)
{
    FILE *null = fopen("/dev/null", "we");

    if (!null)
        return rc_raise(RC_IO, "/dev/null cannot be opened: %s", strerror(errno));
    (void)fflush(*stream);
    *before = *stream;
    *stream = null;
    return RC_OK;
}

void output_restore(FILE **stream, FILE *before)
{
    if (!before)
        return;
    (void)fclose(*stream);
    *stream = before;
}

enum rc output_flush(FILE *to)
{
    errno = 0;
    if (fflush(to) == 0 && !ferror(to))
        return RC_OK;
    if (errno == 0) { /* an earlier write failed; this one fails for the same reason, or the reason is gone */
        clearerr(to);
        (void)(fputc('\n', to) == EOF || fflush(to) == EOF);
    }
    const int error = errno;
    return rc_raise(RC_IO, "%s cannot be written%s%s", to == stdout ? "standard output" : "the text",
                    error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
}

enum rc output_write(const char *text, size_t n_bytes)
{
    enum rc rc = RC_OK;

    TRY(output_flush(stdout));
    while (n_bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, text, n_bytes);
        if (n < 0 && errno != EINTR)
            FAIL(RC_IO, "standard output cannot be written: %s", strerror(errno));
        if (n > 0) {
            text += n;
            n_bytes -= (size_t)n;
        }
    }
out:
    return rc;
}

enum rc output_copy(const char *path)
{
    FILE *from = fopen(path, "re");
    char block[16384];
    size_t n;
    enum rc rc = RC_OK;

    if (!from)
        return rc_raise(RC_IO, "%s: %s", path, strerror(errno));
    while ((n = fread(block, 1, sizeof block, from)) > 0)
        TRY(output_write(block, n));
    if (ferror(from))
        FAIL(RC_IO, "%s: cannot be read", path);
out:
    (void)fclose(from);
    return rc;
}
