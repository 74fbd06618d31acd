/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster_yaml.c - read a cluster description from YAML and report each kind of error in one line.
 *
 * libcyaml reads the document into one string per key; the numbers are converted here, so that an error
 * names the key, the value and the range. libcyaml gives a line number only in its log, and only that of the
 * last item it parsed; so line numbers are found by searching the text.
 */
#include "harness/cluster/cluster_yaml.h"

#include <assert.h>
#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/cluster/cluster_keys.h"

enum { FILE_BYTES_MAX = 65536, VALUE_BYTES = 64 };

struct texts { /* of each key of the table, as read; "" where the document has none */
    char of[CLUSTER_N_KEYS][VALUE_BYTES];
};

struct schema { /* of a description, made from the table of keys */
    cyaml_schema_field_t field[CLUSTER_N_KEYS + 1];
    cyaml_schema_value_t document;
};

/* The whole document, and the first error that libcyaml logged about it. */
struct source {
    const char *path; /* or the name of a preset */
    struct schema schema;
    char text[FILE_BYTES_MAX + 1];
    size_t n_bytes;
    char first_error[256]; /* first line of libcyaml's log, "" when it has none */
    int field_line;        /* line of the field it was reading; 0: unknown */
};

static void make_schema(struct schema *s)
{
    for (int i = 0; i < CLUSTER_N_KEYS; i++) {
        const enum cyaml_flag flag = cluster_keys[i].is_required ? CYAML_FLAG_DEFAULT : CYAML_FLAG_OPTIONAL;
        s->field[i] =
            (cyaml_schema_field_t){ .key = cluster_keys[i].name,
                                    .data_offset = (uint32_t)i * VALUE_BYTES,
                                    .value = { CYAML_VALUE_STRING(flag, char[VALUE_BYTES], 0, VALUE_BYTES - 1) } };
    }
    s->field[CLUSTER_N_KEYS] = (cyaml_schema_field_t)CYAML_FIELD_END;
    s->document = (cyaml_schema_value_t){ CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct texts, s->field) };
}

static enum rc read_text(struct source *src)
{
    FILE *f = NULL;
    enum rc rc;

    TRY(file_open_regular(&f, src->path, "a file with the description of a cluster (YAML)"));
    src->n_bytes = fread(src->text, 1, FILE_BYTES_MAX + 1, f);
    if (ferror(f))
        FAIL(RC_INVAL, "%s: cannot be read: %s", src->path, strerror(errno));
    if (src->n_bytes > FILE_BYTES_MAX)
        FAIL(RC_INVAL, "%s: cannot be read: longer than %d bytes, so not a cluster description", src->path,
             FILE_BYTES_MAX);
    src->text[src->n_bytes] = '\0';
out:
    if (f)
        fclose(f);
    return rc;
}

static int line_of(const struct source *src, const char *at)
{
    int line = 1;

    for (const char *c = src->text; c < at; c++)
        line += *c == '\n';
    return line;
}

static int last_line(const struct source *src)
{
    size_t n = src->n_bytes;

    while (n > 0 && (src->text[n - 1] == '\n' || src->text[n - 1] == '\r'))
        n--;
    return line_of(src, src->text + n);
}

static bool is_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool in_comment(const struct source *src, const char *at)
{
    const char *c = at;

    while (c > src->text && c[-1] != '\n')
        if (*--c == '#' && (c == src->text || strchr(" \t\n", c[-1])))
            return true;
    return false;
}

/* Line of the nth occurrence (from 1) of `key` as a key; 0: there is none. */
static int key_line(const struct source *src, const char *key, int nth)
{
    const size_t n = strlen(key);

    if (n == 0)
        return 0;
    for (const char *at = strstr(src->text, key); at; at = strstr(at + 1, key)) {
        const char *after = at + n;
        if ((at > src->text && is_word(at[-1])) || is_word(*after))
            continue;
        after += strspn(after, " \t\"'");
        if (*after == ':' && !in_comment(src, at) && --nth == 0)
            return line_of(src, at);
    }
    return 0;
}

/* Called for each line of libcyaml's log: keep the first error and the innermost line number. */
static void keep_log_line(cyaml_log_t level, void *ctx, const char *fmt, va_list ap)
{
    struct source *src = ctx;
    char text[sizeof src->first_error];
    const char *line;

    (void)level;
    vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\r\n")] = '\0';
    if (src->first_error[0] == '\0')
        snprintf(src->first_error, sizeof src->first_error, "%s", text);
    else if (src->field_line == 0 && (line = strstr(text, "(line: ")) != NULL)
        src->field_line = (int)strtol(line + strlen("(line: "), NULL, 10);
}

static cyaml_err_t parse(struct source *src, size_t n_bytes, struct texts **out)
{
    const cyaml_config_t config = {
        .log_fn = keep_log_line, .log_ctx = src, .log_level = CYAML_LOG_WARNING, .mem_fn = cyaml_mem
    };

    src->first_error[0] = '\0';
    src->field_line = 0;
    *out = NULL;
    return cyaml_load_data((const uint8_t *)src->text, n_bytes, &config, &src->schema.document, (cyaml_data_t **)out,
                           NULL);
}

static void texts_free(const struct source *src, struct texts *t)
{
    const cyaml_config_t config = { .mem_fn = cyaml_mem };

    cyaml_free(&config, &src->schema.document, t, 0);
}

/* First line at which the text is not YAML, by bisection: the first `good` lines parse, the first `bad` do not. */
static int syntax_line(const struct source *src)
{
    struct source *prefix = malloc(sizeof *prefix);
    int good = 0, bad = last_line(src);

    while (prefix && bad - good > 1) {
        const int middle = good + (bad - good) / 2; /* < the number of lines: each ends with a newline */
        const char *end = src->text;
        struct texts *unused = NULL;
        for (int line = 0; line < middle; line++)
            end = (const char *)memchr(end, '\n', src->n_bytes - (size_t)(end - src->text)) + 1;
        *prefix = *src;
        make_schema(&prefix->schema); /* it points into itself */
        if (parse(prefix, (size_t)(end - src->text), &unused) == CYAML_ERR_LIBYAML_PARSER)
            bad = middle;
        else
            good = middle;
        texts_free(prefix, unused);
    }
    free(prefix);
    return bad;
}

/* What follows prefix in text; NULL when text does not begin with it. */
static const char *skip_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

static enum rc unknown_key(const struct source *src, const char *key)
{
    const char *known[CLUSTER_N_KEYS + 1] = { NULL };
    const char *nearest;

    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        known[i] = cluster_keys[i].name;
    nearest = text_nearest(key, known);
    const int line = key_line(src, key, 1);
    return rc_raise(RC_INVAL, "%s:%d: %s: no such key; %s %s", src->path, line ? line : src->field_line, key,
                    nearest ? "the nearest is" : "the first one is", nearest ? nearest : known[0]);
}

/* Raise libcyaml's error as one line that begins with FILE:LINE. */
static enum rc raise_yaml_error(struct source *src, cyaml_err_t error)
{
    const char *path = src->path, *detail;
    const int line = src->field_line > 0 ? src->field_line : 1;

    for (char *c = src->first_error; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            *c = '?';
    if ((detail = skip_prefix(src->first_error, "Load: Unexpected key: ")) != NULL)
        return unknown_key(src, detail);
    if ((detail = skip_prefix(src->first_error, "Load: Mapping field already seen: ")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: %s: is given twice", path, key_line(src, detail, 2), detail);
    if ((detail = skip_prefix(src->first_error, "Load: Missing required mapping field: ")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: %s: is missing; the file ends without it", path, last_line(src), detail);
    if (skip_prefix(src->first_error, "Load: Expecting MAPPING"))
        return rc_raise(RC_INVAL, "%s:%d: lines of the form key: value would be right", path, line);
    if (skip_prefix(src->first_error, "Load: Expecting STRING"))
        return rc_raise(RC_INVAL, "%s:%d: the value is a list or a mapping; one text or number would be right", path,
                        line);
    if (skip_prefix(src->first_error, "Load: STRING length"))
        return rc_raise(RC_INVAL, "%s:%d: the value is too long; at most %d bytes would be right", path, line,
                        VALUE_BYTES - 1);
    if ((detail = skip_prefix(src->first_error, "Load: libyaml: ")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: not YAML: %s", path, syntax_line(src), detail);
    if ((detail = skip_prefix(src->first_error, "Load: No anchor found")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: an alias (*) names nothing; a text or number would be right", path, line);
    return rc_raise(RC_INVAL, "%s:%d: not a cluster description: %s", path, line, cyaml_strerror(error));
}

/* Is this the comment behind a value, or an indented one of its own? Returns what is behind its "#"; NULL: none. */
static const char *comment_in(const char *line, const char *end, bool is_own)
{
    const char *c = line;

    if (is_own)
        c += strspn(c, " \t");
    else
        while (c < end && !(*c == '#' && c > line && (c[-1] == ' ' || c[-1] == '\t')))
            c++;
    return c < end && *c == '#' && (!is_own || c > line) ? c + 1 : NULL;
}

/* out[CLUSTER_SOURCE_BYTES] := the comment behind the key in `line`, and those that go on with it. */
static void find_source(char *out, const struct source *src, int line)
{
    const char *at = src->text;
    size_t n_used = 0;

    out[0] = '\0';
    for (int l = 1; l < line; l++)
        at = strchr(at, '\n') + 1; /* a key is in that line */
    for (bool is_own = false; *at; is_own = true) {
        const char *end = at + strcspn(at, "\r\n"), *comment = comment_in(at, end, is_own);
        if (!comment)
            return;
        comment += strspn(comment, " \t");
        while (end > comment && strchr(" \t", end[-1]))
            end--;
        if (end > comment && n_used < CLUSTER_SOURCE_BYTES)
            n_used += (size_t)snprintf(out + n_used, CLUSTER_SOURCE_BYTES - n_used, "%s%.*s", n_used > 0 ? " " : "",
                                       (int)(end - comment), comment);
        for (char *c = out; *c; c++)
            if (*c == 0x7f || ((unsigned char)*c < 0x20))
                *c = '?';
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
}

/* Take the value of a key, or leave the default where the document has no such key. */
static enum rc convert(struct cluster *c, struct cluster_sources *sources, const struct source *src, int key,
                       const char *text)
{
    const char *name = cluster_keys[key].name;
    const int line = key_line(src, name, 1);
    char why[RC_MESSAGE_BYTES], comment[CLUSTER_SOURCE_BYTES] = "";

    if (text[0] == '\0' && line == 0)
        return RC_OK;
    if (cluster_key_set(c, key, text) != RC_OK) {
        snprintf(why, sizeof why, "%s", rc_message());
        return rc_raise(RC_INVAL, "%s:%d: %s: %.300s", src->path, line ? line : 1, name, why);
    }
    if (line > 0)
        find_source(comment, src, line);
    if (strncmp(comment, "assumed", strlen("assumed")) != 0) /* B3 */
        c->assumed &= ~(UINT64_C(1) << key);
    if (sources)
        snprintf(sources->text[key], sizeof sources->text[key], "%s", comment);
    return RC_OK;
}

static enum rc convert_all(struct cluster *out, struct cluster_sources *sources, const struct source *src,
                           const struct texts *t)
{
    char why[RC_MESSAGE_BYTES];
    struct cluster c;
    int key = 0;
    enum rc rc;

    cluster_default(&c);
    snprintf(c.name, sizeof c.name, "unnamed");
    for (int i = 0; sources && i < CLUSTER_N_KEYS; i++)
        snprintf(sources->text[i], sizeof sources->text[i], "assumed: not given");
    for (int i = 0; i < CLUSTER_N_KEYS; i++)
        TRY(convert(&c, sources, src, i, t->of[i]));
    if (cluster_keys_agree(&c, &key) != RC_OK) {
        const int line = key_line(src, cluster_keys[key].name, 1);
        snprintf(why, sizeof why, "%s", rc_message());
        FAIL(RC_INVAL, "%s:%d: %s: %.300s", src->path, line ? line : 1, cluster_keys[key].name, why);
    }
    snprintf(c.place, sizeof c.place, "%.*s:%d", CLUSTER_PLACE_BYTES - 16, src->path, key_line(src, "hosts_count", 1));
    *out = c;
out:
    return rc;
}

static enum rc load(struct cluster *out, struct cluster_sources *sources, struct source *src)
{
    const char *path = src->path;
    struct texts *texts = NULL;
    enum rc rc = RC_OK;

    make_schema(&src->schema);
    const cyaml_err_t error = parse(src, src->n_bytes, &texts);
    if (error != CYAML_OK)
        TRY(raise_yaml_error(src, error));
    if (!texts)
        FAIL(RC_INVAL, "%s:1: is empty; lines of the form key: value would be right", path);
    if (src->first_error[0] != '\0') /* the only warning that libcyaml logs */
        FAIL(RC_INVAL, "%s:%d: a second document begins; one would be right", path, last_line(src));
    TRY(convert_all(out, sources, src, texts));
out:
    texts_free(src, texts);
    return rc;
}

enum rc cluster_load(struct cluster *out, struct cluster_sources *sources, const char *path)
{
    struct source *src = malloc(sizeof *src);
    enum rc rc;

    if (!src)
        FAIL(RC_NOMEM, "%s: no memory to read it", path);
    src->path = path;
    TRY(read_text(src));
    TRY(load(out, sources, src));
out:
    free(src);
    return rc;
}

enum rc cluster_parse(struct cluster *out, struct cluster_sources *sources, const char *name, const char *text,
                      size_t n_bytes)
{
    struct source *src = malloc(sizeof *src);
    enum rc rc;

    assert(n_bytes <= FILE_BYTES_MAX);
    if (!src)
        FAIL(RC_NOMEM, "%s: no memory to read it", name);
    src->path = name;
    src->n_bytes = n_bytes;
    memcpy(src->text, text, n_bytes);
    src->text[n_bytes] = '\0';
    TRY(load(out, sources, src));
out:
    free(src);
    return rc;
}
