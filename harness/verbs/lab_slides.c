/* SPDX-License-Identifier: Apache-2.0 */
/* lab_slides.c - see lab_slides.h. */
#include "harness/verbs/lab_slides.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/folder.h"

enum { PATH_BYTES = 4096, COPIED_BYTES = 1 << 16 };

static bool is_picture(const char *name)
{
    const char *dot = strrchr(name, '.');

    return name[0] != '.' && dot && (strcmp(dot, ".png") == 0 || strcmp(dot, ".gif") == 0);
}

static enum rc copy(const char *to, const char *from)
{
    struct atomic_file file = { .stream = NULL };
    char bytes[COPIED_BYTES];
    FILE *source = NULL;
    size_t n_bytes;
    enum rc rc;

    TRY(file_open_regular(&source, from, "a picture"));
    TRY(atomic_file_open(&file, to));
    while ((n_bytes = fread(bytes, 1, sizeof bytes, source)) > 0)
        if (fwrite(bytes, 1, n_bytes, file.stream) != n_bytes)
            FAIL(RC_IO, "%s: cannot be written: %s", to, strerror(errno));
    if (ferror(source))
        FAIL(RC_IO, "%s: cannot be read: %s", from, strerror(errno));
    TRY(atomic_file_commit(&file));
out:
    atomic_file_discard(&file);
    if (source)
        fclose(source);
    return rc;
}

static enum rc copy_of_lab(const char *slides, const char *results, const char *name, int number, int *n_slides)
{
    char folder[PATH_BYTES], from[2 * PATH_BYTES], to[2 * PATH_BYTES];
    struct dirent *entry;
    DIR *dir = NULL;
    enum rc rc = RC_OK;

    snprintf(folder, sizeof folder, "%s/%s", results, name);
    dir = opendir(folder);
    if (!dir)
        FAIL(RC_IO, "%s: %s", folder, strerror(errno));
    while ((entry = readdir(dir)))
        if (is_picture(entry->d_name)) {
            snprintf(from, sizeof from, "%s/%s", folder, entry->d_name);
            snprintf(to, sizeof to, "%s/%d-%s-%s", slides, number, name, entry->d_name);
            TRY(copy(to, from));
            ++*n_slides;
        }
out:
    if (dir)
        closedir(dir);
    return rc;
}

enum rc lab_slides_write(const char *results, const char *const *name, int n_names, int *n_slides)
{
    struct atomic_folder slides = { .path = NULL };
    char path[PATH_BYTES];
    enum rc rc;

    *n_slides = 0;
    snprintf(path, sizeof path, "%s/slides", results);
    TRY(atomic_folder_open(&slides, path));
    for (int i = 0; i < n_names; i++)
        TRY(copy_of_lab(slides.temporary_path, results, name[i], i + 1, n_slides));
    TRY(atomic_folder_commit(&slides));
out:
    atomic_folder_discard(&slides);
    return rc;
}
