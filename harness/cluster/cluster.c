/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cluster.c - read a cluster description from YAML and report each kind of error in one.
 *
 * libcyaml reads the document into one string per key; the numbers are converted here, so that an error
 * names the key, the value and the range. libcyaml gives a line number only in its log, and only that of the
 * last item it parsed; so line numbers are found by searching the text.
 */
#include "harness/cluster/cluster.h"

#include <cyaml/cyaml.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"

enum { FILE_BYTES_MAX = 65536, VALUE_BYTES = 64 };

struct texts { /* as read, before conversion; "" where the document has none */
    char name[VALUE_BYTES];
    char hosts_count[VALUE_BYTES], ranks_per_host_count[VALUE_BYTES];
    char link_bits_per_s[VALUE_BYTES], link_latency_s[VALUE_BYTES];
    char local_bytes_per_s[VALUE_BYTES], local_latency_s[VALUE_BYTES];
    char flops_per_s[VALUE_BYTES], memory_bytes_per_s[VALUE_BYTES], cores_per_rank_count[VALUE_BYTES];
};

#define TEXT_FIELD(key, flag) CYAML_FIELD_STRING(#key, flag, struct texts, key, 0)
static const cyaml_schema_field_t fields[] = {
    TEXT_FIELD(name, CYAML_FLAG_OPTIONAL),
    TEXT_FIELD(hosts_count, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(ranks_per_host_count, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(link_bits_per_s, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(link_latency_s, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(local_bytes_per_s, CYAML_FLAG_OPTIONAL),
    TEXT_FIELD(local_latency_s, CYAML_FLAG_OPTIONAL),
    TEXT_FIELD(flops_per_s, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(memory_bytes_per_s, CYAML_FLAG_DEFAULT),
    TEXT_FIELD(cores_per_rank_count, CYAML_FLAG_OPTIONAL),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t schema = { CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct texts, fields) };

/* The whole document, and the first error that libcyaml logged about it. */
struct source {
    const char *path;
    char text[FILE_BYTES_MAX + 1];
    size_t n_bytes;
    char first_error[256]; /* first line of libcyaml's log, "" when it has none */
    int field_line;        /* line of the field it was reading; 0: unknown */
};

void cluster_default(struct cluster *out)
{
    *out = (struct cluster){
        .name = "default",
        .n_hosts = 0,
        .n_ranks_per_host = 1,
        .link_bytes_per_s = 1e9 / 8,
        .link_latency_s = 25e-6,
        .local_bytes_per_s = 5e9,
        .local_latency_s = 1e-6,
        .flops_per_s = 20e9,
        .memory_bytes_per_s = 8e9,
        .n_cores_per_rank = 1,
    };
}

enum rc cluster_check(const struct cluster *c, int n_ranks)
{
    if (n_ranks < 1)
        return rc_raise(RC_INVAL, "cluster %s: %d ranks; it takes at least 1", c->name, n_ranks);
    if (n_ranks > CLUSTER_MAX_RANKS)
        return rc_raise(RC_INVAL, "cluster %s: %d ranks; at most %d can be simulated", c->name, n_ranks,
                        CLUSTER_MAX_RANKS);
    if (c->n_hosts > 0 && (int64_t)c->n_hosts * c->n_ranks_per_host < n_ranks)
        return rc_raise(RC_INVAL, "cluster %s: %d ranks do not fit: it has %d hosts with %d ranks each", c->name,
                        n_ranks, c->n_hosts, c->n_ranks_per_host);
    return RC_OK;
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
    return cyaml_load_data((const uint8_t *)src->text, n_bytes, &config, &schema, (cyaml_data_t **)out, NULL);
}

static void texts_free(struct texts *t)
{
    const cyaml_config_t config = { .mem_fn = cyaml_mem };

    cyaml_free(&config, &schema, t, 0);
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
        if (parse(prefix, (size_t)(end - src->text), &unused) == CYAML_ERR_LIBYAML_PARSER)
            bad = middle;
        else
            good = middle;
        texts_free(unused);
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
    const char *known[sizeof fields / sizeof *fields] = { NULL };
    const char *nearest;

    for (size_t i = 0; fields[i].key; i++)
        known[i] = fields[i].key;
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

struct number_rule {
    const char *key;
    double least, most;
    bool whole;
};

/* Convert text to *out, or use `fallback` (NaN: the key is required) when the document has no such key. */
static enum rc convert_number(double *out, const struct source *src, const char *text, struct number_rule rule,
                              double fallback)
{
    const int line = key_line(src, rule.key, 1);
    uint64_t whole = 0;
    double value = 0.0;
    bool known;

    if (text[0] == '\0' && line == 0 && !isnan(fallback)) {
        *out = fallback;
        return RC_OK;
    }
    known = rule.whole ? text_to_u64(text, &whole) : text_to_f64(text, &value);
    if (rule.whole)
        value = (double)whole;
    if (!known || value < rule.least || value > rule.most) {
        char shown[VALUE_BYTES];
        snprintf(shown, sizeof shown, "%s", text);
        for (char *c = shown; *c; c++)
            if (*c == 0x7f || (unsigned char)*c < 0x20)
                *c = '?';
        return rc_raise(RC_INVAL, "%s:%d: %s: is \"%s\"; a %snumber from %g to %g would be right", src->path,
                        line ? line : 1, rule.key, shown, rule.whole ? "whole " : "", rule.least, rule.most);
    }
    *out = value;
    return RC_OK;
}

static enum rc convert_name(char *out, const struct source *src, const char *text)
{
    for (const char *c = text; *c; c++)
        if (*c == 0x7f || (unsigned char)*c < 0x20)
            return rc_raise(RC_INVAL, "%s:%d: name: has a control character; printable text would be right", src->path,
                            key_line(src, "name", 1));
    snprintf(out, VALUE_BYTES, "%s", text[0] ? text : "unnamed");
    return RC_OK;
}

static enum rc convert_all(struct cluster *out, const struct source *src, const struct texts *t)
{
    struct cluster c;
    double n_hosts = 0.0, n_ranks_per_host = 0.0, n_cores = 0.0, link_bits_per_s = 0.0;
    enum rc rc;

    cluster_default(&c);
    const struct {
        double *to;
        const char *text;
        struct number_rule rule;
        double fallback;
    } number[] = {
        { &n_hosts, t->hosts_count, { "hosts_count", 0, 1e6, true }, NAN },
        { &n_ranks_per_host, t->ranks_per_host_count, { "ranks_per_host_count", 1, 1e6, true }, NAN },
        { &link_bits_per_s, t->link_bits_per_s, { "link_bits_per_s", 1, 1e18, false }, NAN },
        { &c.link_latency_s, t->link_latency_s, { "link_latency_s", 1e-9, 1e3, false }, NAN },
        { &c.local_bytes_per_s, t->local_bytes_per_s, { "local_bytes_per_s", 1, 1e18, false }, c.local_bytes_per_s },
        { &c.local_latency_s, t->local_latency_s, { "local_latency_s", 1e-9, 1e3, false }, c.local_latency_s },
        { &c.flops_per_s, t->flops_per_s, { "flops_per_s", 1, 1e24, false }, NAN },
        { &c.memory_bytes_per_s, t->memory_bytes_per_s, { "memory_bytes_per_s", 1, 1e18, false }, NAN },
        { &n_cores, t->cores_per_rank_count, { "cores_per_rank_count", 1, 1e6, true }, c.n_cores_per_rank },
    };
    TRY(convert_name(c.name, src, t->name));
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        TRY(convert_number(number[i].to, src, number[i].text, number[i].rule, number[i].fallback));
    c.n_hosts = (int)n_hosts;
    c.n_ranks_per_host = (int)n_ranks_per_host;
    c.n_cores_per_rank = (int)n_cores;
    c.link_bytes_per_s = link_bits_per_s / 8;
    *out = c;
out:
    return rc;
}

enum rc cluster_load(struct cluster *out, const char *path)
{
    struct source *src = malloc(sizeof *src);
    struct texts *texts = NULL;
    enum rc rc;

    if (!src)
        FAIL(RC_NOMEM, "%s: no memory to read it", path);
    src->path = path;
    TRY(read_text(src));
    const cyaml_err_t error = parse(src, src->n_bytes, &texts);
    if (error != CYAML_OK)
        TRY(raise_yaml_error(src, error));
    if (!texts)
        FAIL(RC_INVAL, "%s:1: is empty; lines of the form key: value would be right", path);
    if (src->first_error[0] != '\0') /* the only warning that libcyaml logs */
        FAIL(RC_INVAL, "%s:%d: a second document begins; one would be right", path, last_line(src));
    TRY(convert_all(out, src, texts));
out:
    texts_free(texts);
    free(src);
    return rc;
}
