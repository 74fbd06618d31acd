/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c - records are jansson objects, which keep the order in which keys were set.
 *
 * A report collects its lines in the temporary file of base/file.h, or in memory when they go to
 * standard output; no line is written there before report_commit().
 */
#include "harness/report/record.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/report/record_keys.h"
#include "harness/report/xml.h"

enum { BUG_BYTES = 160 };

struct record {
    json_t *object;
    const struct record_kind *kind; /* NULL: a child without one */
    bool failed;                    /* an allocation failed: the record lacks a key and must not be written */
    char bug[BUG_BYTES];            /* what breaks report.O3; "": nothing */
};

enum report_target { TARGET_NONE, TARGET_FILE, TARGET_STDOUT };

struct report {
    enum report_target target;
    struct atomic_file file; /* TARGET_FILE */
    FILE *memory;            /* TARGET_STDOUT: a stream into text */
    char *text;
    size_t n_text_bytes;
    struct record record; /* of report_begin() */
    char bug[BUG_BYTES];  /* of the first record that has one */
};

/* A JSON string of any bytes: those that are not UTF-8 (a host name, a path) become U+FFFD. */
static json_t *text_value(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const size_t n_bytes = strlen(text);
    json_t *value = json_stringn(text, n_bytes);
    size_t n_out = 0;

    if (value)
        return value;
    char *clean = malloc(3 * n_bytes + 1);
    if (!clean)
        return NULL;
    for (size_t i = 0; i < n_bytes;) {
        const size_t n = utf8_sequence_bytes(text + i, n_bytes - i);

        memcpy(clean + n_out, n ? text + i : replacement, n ? n : 3);
        n_out += n ? n : 3;
        i += n ? n : 1;
    }
    value = json_stringn(clean, n_out);
    free(clean);
    return value;
}

/* As a bit of enum record_type; 0: null, or an empty array. */
static unsigned type_of(const json_t *value)
{
    static const unsigned of_array[] = {
        [JSON_STRING] = RECORD_TEXTS, [JSON_INTEGER] = RECORD_WHOLES, [JSON_REAL] = RECORD_REALS
    };

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return RECORD_OBJECT;
    case JSON_ARRAY:
        for (size_t i = 0; i < json_array_size(value); i++)
            if (!json_is_null(json_array_get(value, i)))
                return of_array[json_typeof(json_array_get(value, i))];
        return 0;
    case JSON_STRING:
        return RECORD_TEXT;
    case JSON_INTEGER:
        return RECORD_WHOLE;
    case JSON_REAL:
        return json_real_value(value) >= 0x1p63 ? RECORD_WHOLE | RECORD_REAL : RECORD_REAL; /* u64_value() */
    case JSON_TRUE:
    case JSON_FALSE:
        return RECORD_BOOL;
    case JSON_NULL:
        break;
    }
    return 0;
}

/* report.O3 */
static void check(struct record *r, const char *key, const json_t *value)
{
    if (r->kind && !r->bug[0] && !record_kind_allows(r->kind, key, type_of(value)))
        snprintf(r->bug, sizeof r->bug, "record_keys.c does not list the key %.64s of kind %.32s with such a value",
                 key, r->kind->name);
}

/* Ends value. */
static void set(struct record *r, const char *key, json_t *value)
{
    if (!r) {
        json_decref(value);
        return;
    }
    if (value)
        check(r, key, value);
    if (!value || json_object_set_new(r->object, key, value) != 0)
        r->failed = true;
}

/* Without memory it has no object, and failed is set. */
static void begin(struct record *r, const char *kind)
{
    *r = (struct record){ .object = json_object() };
    r->failed = !r->object;
    if (!kind)
        return;
    r->kind = record_kind_find(kind);
    if (!r->kind)
        snprintf(r->bug, sizeof r->bug, "record_keys.c does not list the kind %.64s", kind);
    record_text(r, "kind", kind);
}

struct record *record_open(const char *kind)
{
    struct record *r = calloc(1, sizeof *r);

    if (r)
        begin(r, kind);
    return r;
}

void record_close(struct record **r)
{
    if (!*r)
        return;
    json_decref((*r)->object);
    free(*r);
    *r = NULL;
}

/* JSON numbers have no range, readers do: beyond 63 bits a real one is what all of them accept. */
static json_t *u64_value(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void record_u64(struct record *r, const char *key, uint64_t value)
{
    set(r, key, u64_value(value));
}

void record_i64(struct record *r, const char *key, int64_t value)
{
    set(r, key, json_integer(value));
}

void record_f64(struct record *r, const char *key, double value)
{
    set(r, key, isfinite(value) ? json_real(value) : json_null()); /* report.O1 */
}

void record_bool(struct record *r, const char *key, bool value)
{
    set(r, key, json_boolean(value));
}

void record_text(struct record *r, const char *key, const char *value)
{
    set(r, key, value ? text_value(value) : json_null());
}

void record_null(struct record *r, const char *key)
{
    set(r, key, json_null());
}

void record_count(struct record *r, const char *key, bool is_known, uint64_t value)
{
    set(r, key, is_known ? u64_value(value) : json_null());
}

double record_number(const struct json_t *record, const char *key)
{
    const json_t *value = json_object_get(record, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

void record_u64_array(struct record *r, const char *key, const uint64_t *value, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, u64_value(value[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    set(r, key, array);
}

void record_f64_array(struct record *r, const char *key, const double *value, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, isfinite(value[i]) ? json_real(value[i]) : json_null()) != 0) { /* report.O1 */
            json_decref(array);
            array = NULL;
        }
    set(r, key, array);
}

void record_text_array(struct record *r, const char *key, const char *const *value, size_t n)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < n; i++)
        if (json_array_append_new(array, text_value(value[i])) != 0) {
            json_decref(array);
            array = NULL;
        }
    set(r, key, array);
}

void record_child(struct record *r, const char *key, struct record **child)
{
    if (r && (!*child || (*child)->failed))
        r->failed = true;
    if (r && *child && !r->bug[0])
        memcpy(r->bug, (*child)->bug, sizeof r->bug);
    if (*child)
        set(r, key, json_incref((*child)->object));
    record_close(child);
}

static int append(const char *bytes, size_t n_bytes, void *to)
{
    return fwrite(bytes, 1, n_bytes, to) == n_bytes ? 0 : -1;
}

/* One record and a line feed. path: of the file; NULL: in memory. */
static enum rc dump(const struct record *r, FILE *to, const char *path, size_t flags)
{
    if (!r || r->failed)
        return rc_raise(RC_NOMEM, "no memory for all keys of a record");
    if (json_dump_callback(r->object, append, to, flags | JSON_REAL_PRECISION(17)) != 0 || fputc('\n', to) == EOF)
        return rc_raise(RC_IO, "%s: write failed: %s%s", path ? path : "a record", strerror(errno),
                        file_write_remedy(errno));
    return RC_OK;
}

/* report.O3 of what was written whole. */
static enum rc judge(const char *bug)
{
    return bug[0] ? rc_raise(RC_BUG, "%s", bug) : RC_OK;
}

static void record_option(struct record *r, const char *key, const struct opt *o, const void *from)
{
    const char *member = (const char *)from + o->offset_bytes;
    double real;
    uint64_t whole;
    bool yes;

    switch (o->type) {
    case OPT_F64:
        memcpy(&real, member, sizeof real);
        record_f64(r, key, real);
        break;
    case OPT_U64:
        memcpy(&whole, member, sizeof whole);
        if (whole == UINT64_MAX || (o->def[0] == '\0' && whole == opt_u64_unset(o)))
            record_null(r, key);
        else
            record_u64(r, key, whole);
        break;
    case OPT_BOOL:
        memcpy(&yes, member, sizeof yes);
        record_bool(r, key, yes);
        break;
    default:
        record_text(r, key, opt_text(o, from));
    }
}

void record_options(struct record *r, const struct opt *table, const void *from)
{
    for (const struct opt *o = table; o->type != OPT_END; o++)
        record_option(r, o->name, o, from);
}

void record_module_options(struct record *r, const struct module *module, const void *from)
{
    char key[128];

    for (const struct opt *o = module->options; from && o->type != OPT_END; o++) {
        snprintf(key, sizeof key, "%s.%s", module->name, o->name);
        record_option(r, key, o, from);
    }
}

enum rc report_open(struct report **out, const char *path)
{
    struct report *rep = calloc(1, sizeof *rep);
    enum rc rc = RC_OK;

    if (!rep)
        FAIL(RC_NOMEM, "no memory for a report");
    if (!path) {
        rep->target = TARGET_NONE;
    } else if (strcmp(path, "-") == 0) {
        rep->target = TARGET_STDOUT;
        rep->memory = open_memstream(&rep->text, &rep->n_text_bytes);
        if (!rep->memory)
            FAIL(RC_NOMEM, "no memory for a report");
    } else {
        rep->target = TARGET_FILE;
        TRY(atomic_file_open(&rep->file, path));
    }
    *out = rep;
    rep = NULL;
out:
    report_close(&rep);
    return rc;
}

enum rc report_write(struct report *rep, const struct record *r)
{
    FILE *to = rep->target == TARGET_FILE ? rep->file.stream : rep->memory;
    enum rc rc = RC_OK;

    if (rep->target == TARGET_NONE)
        return RC_OK;
    if (!to)
        return rc_raise(RC_BUG, "a record came after its report was committed");
    TRY(dump(r, to, rep->file.path, JSON_COMPACT));
    if (!rep->bug[0])
        memcpy(rep->bug, r->bug, sizeof rep->bug);
out:
    return rc;
}

static void drop(struct report *rep)
{
    json_decref(rep->record.object);
    rep->record.object = NULL;
}

struct record *report_begin(struct report *rep, const char *kind)
{
    drop(rep);
    begin(&rep->record, kind);
    return &rep->record;
}

enum rc report_end(struct report *rep)
{
    const enum rc rc = report_write(rep, &rep->record);

    drop(rep);
    return rc;
}

static enum rc commit_to_stdout(struct report *rep)
{
    int failed = fclose(rep->memory);

    rep->memory = NULL;
    if (failed)
        return rc_raise(RC_NOMEM, "no memory for a report");
    return output_write(rep->text, rep->n_text_bytes);
}

enum rc report_commit(struct report *rep)
{
    enum rc rc = RC_OK;

    if (rep->target == TARGET_FILE) /* report.O2 */
        TRY(atomic_file_commit(&rep->file));
    if (rep->target == TARGET_STDOUT && rep->memory)
        TRY(commit_to_stdout(rep));
    TRY(judge(rep->bug));
out:
    return rc;
}

void report_close(struct report **rep)
{
    if (!*rep)
        return;
    drop(*rep);
    atomic_file_discard(&(*rep)->file);
    if ((*rep)->memory)
        fclose((*rep)->memory);
    free((*rep)->text);
    free(*rep);
    *rep = NULL;
}

enum rc record_write_file(const struct record *r, const char *path)
{
    struct atomic_file file = { 0 };
    enum rc rc;

    TRY(atomic_file_open(&file, path));
    TRY(dump(r, file.stream, file.path, JSON_INDENT(2)));
    TRY(atomic_file_commit(&file));
    TRY(judge(r->bug));
out:
    atomic_file_discard(&file);
    return rc;
}

enum rc record_print(const struct record *r, FILE *to)
{
    enum rc rc;

    TRY(dump(r, to, NULL, JSON_COMPACT));
    TRY(judge(r->bug));
out:
    return rc;
}

enum rc record_quote(char **out, const char *text)
{
    json_t *value = text_value(text);

    *out = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    json_decref(value);
    return *out ? RC_OK : rc_raise(RC_NOMEM, "no memory for a text of a record");
}
