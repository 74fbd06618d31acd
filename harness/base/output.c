/* SPDX-License-Identifier: Apache-2.0 */
/* output.c - see output.h. */
#include "harness/base/output.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

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

enum rc output_write(const char *text, size_t n_bytes)
{
    if (fflush(stdout) != 0)
        return rc_raise(RC_IO, "standard output: %s", strerror(errno));
    while (n_bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, text, n_bytes);
        if (n < 0 && errno != EINTR)
            return rc_raise(RC_IO, "standard output: %s", strerror(errno));
        if (n > 0) {
            text += n;
            n_bytes -= (size_t)n;
        }
    }
    return RC_OK;
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
