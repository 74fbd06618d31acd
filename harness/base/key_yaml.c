/* SPDX-License-Identifier: Apache-2.0 */
/*
 * key_yaml.c - read a flat mapping of keys from YAML and report each kind of error in one line.
 *
 * libcyaml reads the document into one string per key; the numbers are converted by key_table.c, so that an error
 * names the key, the value and the range. libcyaml gives a line number only in its log, and only that of the
 * last item it parsed; so line numbers are found by searching the text.
 */
#include "harness/base/key_yaml.h"

#include <assert.h>
#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"

struct schema { /* of a file, made from the table of keys */
    cyaml_schema_field_t field[KEY_MAX_KEYS + 1];
    cyaml_schema_value_t document;
};

/* The whole document, and the first error that libcyaml logged about it. */
struct key_file {
    const struct key_table *table;
    size_t n_value_bytes; /* of each key in values */
    char *values;         /* [n_keys][n_value_bytes], as read; "" where the document has none; libcyaml's */
    char *name;           /* path, or name of a text */
    struct schema schema;
    char text[KEY_FILE_BYTES_MAX + 1];
    size_t n_bytes;
    char first_error[256]; /* first line of libcyaml's log, "" when it has none */
    int field_line;        /* line of the field it was reading; 0: unknown */
};

static void make_schema(struct schema *s, const struct key_table *t, size_t n_value_bytes)
{
    for (int i = 0; i < t->n_keys; i++)
        s->field[i] = (cyaml_schema_field_t){
            .key = t->key[i].name,
            .data_offset = (uint32_t)((size_t)i * n_value_bytes),
            .value = { .type = CYAML_STRING,
                       .flags = CYAML_FLAG_OPTIONAL, /* check_required() names all that are missing */
                       .data_size = (uint32_t)n_value_bytes,
                       .string = { .min = 0, .max = (uint32_t)n_value_bytes - 1 } },
        };
    s->field[t->n_keys] = (cyaml_schema_field_t)CYAML_FIELD_END;
    s->document = (cyaml_schema_value_t){ .type = CYAML_MAPPING,
                                          .flags = CYAML_FLAG_POINTER,
                                          .data_size = (uint32_t)((size_t)t->n_keys * n_value_bytes),
                                          .mapping = { .fields = s->field } };
}

static enum rc read_text(struct key_file *src)
{
    FILE *f = NULL;
    enum rc rc;

    TRY(file_open_text(&f, src->name, src->table->wanted));
    src->n_bytes = fread(src->text, 1, KEY_FILE_BYTES_MAX + 1, f);
    if (ferror(f))
        FAIL(RC_INVAL, "%s: cannot be read: %s", src->name, strerror(errno));
    if (src->n_bytes > KEY_FILE_BYTES_MAX)
        FAIL(RC_INVAL, "%s: cannot be read: longer than %d bytes, so not a %s", src->name, KEY_FILE_BYTES_MAX,
             src->table->what);
    src->text[src->n_bytes] = '\0';
out:
    if (f)
        fclose(f);
    return rc;
}

static int line_of(const struct key_file *src, const char *at)
{
    int line = 1;

    for (const char *c = src->text; c < at; c++)
        line += *c == '\n';
    return line;
}

static int last_line(const struct key_file *src)
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

static bool in_comment(const struct key_file *src, const char *at)
{
    const char *c = at;

    while (c > src->text && c[-1] != '\n')
        if (*--c == '#' && (c == src->text || strchr(" \t\n", c[-1])))
            return true;
    return false;
}

/* Line of the nth occurrence (from 1) of `key` as a key; 0: there is none. */
static int key_line(const struct key_file *src, const char *key, int nth)
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
    struct key_file *src = ctx;
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

static cyaml_err_t parse(struct key_file *src, size_t n_bytes, char **out)
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

static void values_free(const struct key_file *src, char *values)
{
    const cyaml_config_t config = { .mem_fn = cyaml_mem };

    cyaml_free(&config, &src->schema.document, values, 0);
}

/* First line at which the text is not YAML, by bisection: the first `good` lines parse, the first `bad` do not. */
static int syntax_line(const struct key_file *src)
{
    struct key_file *prefix = malloc(sizeof *prefix);
    int good = 0, bad = last_line(src);

    while (prefix && bad - good > 1) {
        const int middle = good + (bad - good) / 2; /* < the number of lines: each ends with a newline */
        const char *end = src->text;
        char *unused = NULL;
        for (int line = 0; line < middle; line++)
            end = (const char *)memchr(end, '\n', src->n_bytes - (size_t)(end - src->text)) + 1;
        *prefix = *src;
        make_schema(&prefix->schema, src->table, src->n_value_bytes); /* it points into itself */
        if (parse(prefix, (size_t)(end - src->text), &unused) == CYAML_ERR_LIBYAML_PARSER)
            bad = middle;
        else
            good = middle;
        values_free(prefix, unused);
    }
    free(prefix);
    return bad;
}

/* What follows prefix in text; NULL when text does not begin with it. */
static const char *skip_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0 ? text + strlen(prefix) : NULL;
}

static enum rc unknown_key(const struct key_file *src, const char *key)
{
    const int line = key_line(src, key, 1);
    char why[RC_MESSAGE_BYTES];

    key_say_unknown(src->table, key, why, sizeof why);
    return rc_raise(RC_INVAL, "%s:%d: %s: %s", src->name, line ? line : src->field_line, key, why);
}

/* What the words of libyaml mean for lines of the form key: value; "": nothing more. */
static const char *syntax_remedy(const struct key_file *src, const char *detail)
{
    if (strstr(detail, "cannot start any token") && memchr(src->text, '\t', src->n_bytes))
        return "; use spaces in place of a tab";
    if (strstr(detail, "could not find expected ':'"))
        return "; use a space behind the colon, as in key: value";
    return "";
}

/* Raise libcyaml's error as one line that begins with FILE:LINE. */
static enum rc raise_yaml_error(struct key_file *src, cyaml_err_t error)
{
    const char *path = src->name, *detail;
    const int line = src->field_line > 0 ? src->field_line : 1;

    for (char *c = src->first_error; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            *c = '?';
    if ((detail = skip_prefix(src->first_error, "Load: Unexpected key: ")) != NULL)
        return unknown_key(src, detail);
    if ((detail = skip_prefix(src->first_error, "Load: Mapping field already seen: ")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: %s: is given twice", path, key_line(src, detail, 2), detail);
    if (skip_prefix(src->first_error, "Load: Expecting MAPPING"))
        return rc_raise(RC_INVAL, "%s:%d: use lines of the form key: value", path, line);
    if (skip_prefix(src->first_error, "Load: Expecting STRING"))
        return rc_raise(RC_INVAL, "%s:%d: the value is a list or a mapping; use one text or number", path, line);
    if (skip_prefix(src->first_error, "Load: STRING length"))
        return rc_raise(RC_INVAL, "%s:%d: the value is too long; use at most %d bytes", path, line,
                        (int)src->n_value_bytes - 1);
    if ((detail = skip_prefix(src->first_error, "Load: libyaml: ")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: not YAML: %s%s", path, syntax_line(src), detail, syntax_remedy(src, detail));
    if ((detail = skip_prefix(src->first_error, "Load: No anchor found")) != NULL)
        return rc_raise(RC_INVAL, "%s:%d: an alias (*) names nothing; use a text or number", path, line);
    return rc_raise(RC_INVAL, "%s:%d: not a %s: %s", path, line, src->table->what, cyaml_strerror(error));
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

/* out[n_out] := the comment behind the key in `line`, and those that go on with it. */
static void find_comment(const struct key_file *src, int line, char *out, size_t n_out)
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
        if (end > comment && n_used < n_out)
            n_used += (size_t)snprintf(out + n_used, n_out - n_used, "%s%.*s", n_used > 0 ? " " : "",
                                       (int)(end - comment), comment);
        for (char *c = out; *c; c++)
            if (*c == 0x7f || ((unsigned char)*c < 0x20))
                *c = '?';
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
}

static const char *value_of(const struct key_file *f, int key)
{
    return f->values + (size_t)key * f->n_value_bytes;
}

/* RC_INVAL names all required keys that the file lacks. */
static enum rc check_required(const struct key_file *src)
{
    char names[RC_MESSAGE_BYTES / 2] = "";
    size_t n_bytes = 0;
    int n = 0;

    for (int i = 0; i < src->table->n_keys; i++) {
        const struct key *k = &src->table->key[i];
        if (k->is_required && value_of(src, i)[0] == '\0' && key_line(src, k->name, 1) == 0 && n_bytes < sizeof names)
            n_bytes += (size_t)snprintf(names + n_bytes, sizeof names - n_bytes, "%s%s", n++ > 0 ? ", " : "", k->name);
    }
    if (n == 0)
        return RC_OK;
    return rc_raise(RC_INVAL, "%s:%d: %s: %s missing; the file ends without %s", src->name, last_line(src), names,
                    n == 1 ? "is" : "are", n == 1 ? "it" : "them");
}

static enum rc read_values(struct key_file *src)
{
    const char *path = src->name;
    enum rc rc = RC_OK;

    src->n_value_bytes = key_value_bytes(src->table);
    make_schema(&src->schema, src->table, src->n_value_bytes);
    const cyaml_err_t error = parse(src, src->n_bytes, &src->values);
    if (error != CYAML_OK)
        TRY(raise_yaml_error(src, error));
    if (!src->values)
        FAIL(RC_INVAL, "%s:1: is empty; use lines of the form key: value", path);
    if (src->first_error[0] != '\0') /* the only warning that libcyaml logs */
        FAIL(RC_INVAL, "%s:%d: a second document begins; use one", path, last_line(src));
    TRY(check_required(src));
out:
    return rc;
}

static enum rc open_file(struct key_file **out, const struct key_table *t, const char *name)
{
    struct key_file *f = calloc(1, sizeof *f);
    char *copy = strdup(name);

    assert(t->n_keys <= KEY_MAX_KEYS);
    if (!f || !copy) {
        free(f);
        free(copy);
        return rc_raise(RC_NOMEM, "%s: no memory to read it", name);
    }
    f->table = t;
    f->name = copy;
    *out = f;
    return RC_OK;
}

void key_file_close(struct key_file **f)
{
    if (*f) {
        values_free(*f, (*f)->values);
        free((*f)->name);
    }
    free(*f);
    *f = NULL;
}

enum rc key_file_load(struct key_file **out, const struct key_table *t, const char *path)
{
    struct key_file *f = NULL;
    enum rc rc;

    TRY(open_file(&f, t, path));
    TRY(read_text(f));
    TRY(read_values(f));
    *out = f;
    f = NULL;
out:
    key_file_close(&f);
    return rc;
}

enum rc key_file_parse(struct key_file **out, const struct key_table *t, const char *name, const char *text,
                       size_t n_bytes)
{
    struct key_file *f = NULL;
    enum rc rc;

    TRY(open_file(&f, t, name));
    if (n_bytes > KEY_FILE_BYTES_MAX)
        FAIL(RC_INVAL, "%s:1: longer than %d bytes, so not a %s", name, KEY_FILE_BYTES_MAX, t->what);
    f->n_bytes = n_bytes;
    memcpy(f->text, text, n_bytes);
    TRY(read_values(f));
    *out = f;
    f = NULL;
out:
    key_file_close(&f);
    return rc;
}

const char *key_file_name(const struct key_file *f)
{
    return f->name;
}

int key_file_line(const struct key_file *f, int key)
{
    return key_line(f, f->table->key[key].name, 1);
}

enum rc key_file_refuse(const struct key_file *f, int key)
{
    const int line = key_file_line(f, key);
    char why[RC_MESSAGE_BYTES];

    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(RC_INVAL, "%s:%d: %s: %.300s", f->name, line ? line : 1, f->table->key[key].name, why);
}

enum rc key_file_set(const struct key_file *f, int key, void *object)
{
    const char *text = value_of(f, key);

    if (text[0] == '\0' && key_file_line(f, key) == 0)
        return RC_OK;
    if (key_set(&f->table->key[key], object, text) != RC_OK)
        return key_file_refuse(f, key);
    return RC_OK;
}

void key_file_comment(const struct key_file *f, int key, char *out, size_t n_bytes)
{
    const int line = key_file_line(f, key);

    out[0] = '\0';
    if (line > 0)
        find_comment(f, line, out, n_bytes);
}
