/* SPDX-License-Identifier: Apache-2.0 */
/* exercise.c - the exercises, and the program that a student gets: exercises/exercise.c.in with values for its @NAMES@.
 */
#include "harness/labs/exercise.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/share.h"
#include "models/workload.h"

#ifndef GRADMARK_EXERCISES
#error "GRADMARK_EXERCISES is the folder of the programs with gaps"
#endif

static const struct exercise list[] = {
    { .name = "batch-size",
      .title = "A line through 1000 points, by two workers.",
      .model = &workload_linear,
      .n_samples = 1000,
      .batch = 100,
      .n_steps = 20,
      .lr = 0.1 },
    { .name = "cnn",
      .title = "A convolutional network that reads digits, by two workers.",
      .model = &workload_lenet,
      .n_samples = 256,
      .batch = 32,
      .n_steps = 8,
      .lr = 0.05 },
};

enum { N_EXERCISES = sizeof list / sizeof *list };

const struct exercise *exercise_at(int i)
{
    return i < N_EXERCISES ? &list[i] : NULL;
}

enum rc exercise_find(const struct exercise **out, const char *name)
{
    char all[128] = "";

    for (int i = 0; i < N_EXERCISES; i++) {
        if (strcmp(list[i].name, name) == 0) {
            *out = &list[i];
            return RC_OK;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? ", " : "", list[i].name);
    }
    return rc_raise(RC_INVAL, "%.60s: has no exercise; labs with one: %s", name, all);
}

/* The value of @word@, n_chars long; NULL: there is no such word. */
static const char *value_of(const struct exercise *e, const char *word, size_t n_chars, char number[32])
{
    const struct {
        const char *word, *text;
        double number;
    } all[] = { { "NAME", e->name, 0 },
                { "TITLE", e->title, 0 },
                { "MODEL", e->model->module.name, 0 },
                { "N_SAMPLES", "", e->n_samples },
                { "BATCH", "", e->batch },
                { "N_STEPS", "", e->n_steps },
                { "LR", "", e->lr } };

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strlen(all[i].word) == n_chars && strncmp(all[i].word, word, n_chars) == 0) {
            if (all[i].text[0])
                return all[i].text;
            snprintf(number, 32, "%g", all[i].number);
            return number;
        }
    return NULL;
}

static void write_line(FILE *to, const struct exercise *e, const char *line)
{
    char number[32];

    for (const char *at; (at = strchr(line, '@'));) {
        const char *end = strchr(at + 1, '@');
        const char *value = end ? value_of(e, at + 1, (size_t)(end - at - 1), number) : NULL;
        fprintf(to, "%.*s%s", (int)(at - line), line, value ? value : "@");
        line = value ? end + 1 : at + 1;
    }
    fputs(line, to);
}

enum rc exercise_write(const struct exercise *e, const char *path, bool may_replace)
{
    struct atomic_file file = { .stream = NULL };
    char source[PATH_MAX], *line = NULL;
    size_t line_bytes = 0;
    FILE *from = NULL;
    enum rc rc = RC_OK;

    if (!may_replace && access(path, F_OK) == 0)
        FAIL(RC_INVAL, "%s: is there already; --force replaces it", path);
    share_path(source, sizeof source, "exercises/exercise.c.in", GRADMARK_EXERCISES "/exercise.c.in");
    TRY(file_open_regular(&from, source, "the program with gaps that comes with gradmark"));
    TRY(atomic_file_open(&file, path));
    while (getline(&line, &line_bytes, from) >= 0)
        write_line(file.stream, e, line);
out:
    rc = atomic_file_finish(&file, rc);
    free(line);
    if (from)
        (void)fclose(from);
    return rc;
}
