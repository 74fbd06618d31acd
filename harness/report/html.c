/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - writing a page: escaping, tables, pictures, and the policy that holds the page to its own parts. */
#include "harness/report/html.h"

#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/base/file.h"

/* --- the style and the script of every page --- */

/*
 * How a page looks (on a screen, a phone, paper), and how its tables sort.
 *
 * Colours are the reader's own, light or dark, and greys that are seen on both. Only tables, and on a phone pictures,
 * may be wider than the screen, and scroll by themselves. On a phone the script makes a block of each row of a wide
 * table, and leaves out its empty values. Without the script a page reads the same, in the order of its records.
 */

static const char html_style[] =
    ":root{color-scheme:light dark;--line:1px solid #80808073}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;padding:1rem 1.25rem 3rem;max-width:100rem;font:16px/1.5 system-ui,sans-serif;"
    "overflow-wrap:anywhere}"
    "h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0 .25rem}"
    "h2{font-size:1.2rem;line-height:1.3;margin:2.25rem 0 .5rem;padding-top:.75rem;"
    "border-top:var(--line)}"
    "p{margin:.5rem 0}"
    ".about,.note,figcaption,footer{font-size:.875rem;color:GrayText;color:color-mix(in srgb,CanvasText 72%,Canvas)}"
    "ul{margin:.5rem 0;padding-left:1.25rem}"
    "li{margin:.3rem 0}"
    "summary{cursor:pointer;font-weight:600;margin:1rem 0 .5rem}"
    ".verdict,.alert{list-style:none;padding:.75rem 1rem;border:var(--line);"
    "border-left:.35rem solid #0072B2;border-radius:.3rem}"
    ".verdict .head{font-weight:600}"
    ".verdict .head:not(:first-child){margin-top:1rem}"
    ".alert{padding:.5rem 1rem;border-left-color:#D55E00}"
    ".scroll,figure>div{--paper:Canvas;overflow-x:auto;border:var(--line);border-radius:.3rem;"
    /* a shadow at the right edge, until the end of the table or picture is in sight */
    "background:linear-gradient(to left,var(--paper) 1.5rem,transparent) right/4rem 100% no-repeat local,"
    "linear-gradient(to left,#80808099,transparent) right/1rem 100% no-repeat scroll var(--paper)}"
    ".scroll{margin:.75rem 0}"
    ".scroll:focus-visible,button:focus-visible,a:focus-visible{outline:2px solid #0072B2;outline-offset:1px}"
    "table{border-collapse:collapse;width:100%;font-size:.875rem;font-variant-numeric:tabular-nums;"
    "overflow-wrap:normal}"
    "caption{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}"
    "th,td{padding:.3rem .6rem;text-align:left;white-space:nowrap;vertical-align:top}"
    "thead th{border-bottom:2px solid #80808099;vertical-align:bottom}"
    "tbody+tbody{border-top:2px solid #80808073}"
    "tbody tr:nth-child(even){background:#8080801a}"
    "tbody tr:hover{background:#80808033}"
    ".n{text-align:right}"
    ".wide{white-space:normal;overflow-wrap:anywhere;min-width:14rem}"
    "th button{font:inherit;font-weight:bold;color:inherit;background:none;border:0;padding:0;margin:0;"
    "cursor:pointer;text-align:inherit;white-space:nowrap}"
    "th button::after{content:'\\2195';opacity:.35;margin-left:.3em}"
    "th[aria-sort=ascending] button::after{content:'\\2191';opacity:1}"
    "th[aria-sort=descending] button::after{content:'\\2193';opacity:1}"
    "figure{margin:1rem 0}"
    "figcaption{margin-top:.3rem}"
    ".charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,34rem),1fr));gap:0 1.25rem}"
    "figure>div{--paper:#fff;max-width:max-content}"
    "figure img{display:block;max-width:100%;height:auto;mix-blend-mode:multiply}" /* the shadow is seen through it */
    "footer{margin-top:2.5rem}"
    "@media (max-width:40rem){body{padding:.75rem .75rem 2rem}h1{font-size:1.3rem}"
    "table{font-size:.8125rem;line-height:1.35}th,td{padding:.3rem .35rem}"
    "th,th button,td:not(.n){white-space:normal}td:last-child{overflow-wrap:anywhere}"
    "td.n span{display:block}th button::after{content:none}.wide{min-width:0}"
    /* a wide table: each row is a block, in which every value has its title above it */
    ".rows,.rows tbody{display:block}.rows thead tr{display:flex;flex-wrap:wrap}.rows thead th{border:0}"
    ".rows thead tr::before{content:'sort by:';padding:.3rem .35rem}"
    ".rows tbody tr{display:grid;grid-template-columns:repeat(auto-fill,minmax(6.5rem,1fr));padding:.35rem}"
    ".rows td{padding:.15rem;text-align:left;white-space:normal;overflow-wrap:anywhere}"
    ".rows td:first-child{font-weight:600}.rows .wide{grid-column:1/-1}.rows td:not([data-title]){display:none}"
    ".rows td::before{content:attr(data-title);display:block;font:.75rem/1.2 system-ui,sans-serif;opacity:.72}"
    /* a picture keeps a width at which it is read: it goes on to the right, and says so */
    "figure img{max-width:none;width:42rem}"
    "figure>div::before{content:'Swipe, or turn the screen, to see all \\2192';display:block;padding:.3rem;color:#333;"
    "font:600 .8rem system-ui}}"
    "@page{size:A4 landscape;margin:12mm}"
    "@media print{:root{color-scheme:light}"
    "body{padding:0;max-width:none;font-size:9pt}"
    "h2{break-after:avoid;margin-top:1.25rem}"
    "figure,li,tr{break-inside:avoid}"
    ".charts{grid-template-columns:1fr 1fr}"
    ".scroll{overflow:visible;border:0;background:none}"
    "figure>div{overflow:visible;background:none}figure>div::before{content:none}"
    ".about,.note,figcaption,footer{font-size:8pt}"
    "table{font-size:6.5pt}"
    "thead{display:table-header-group}"
    "th,td{padding:1pt 3pt}"
    ".wide{min-width:0}"
    "tbody tr:nth-child(even){background:none}"
    "th button::after{content:none!important}}";

static const char html_script[] =
    "(function(){'use strict';"
    "var list=function(of){return Array.prototype.slice.call(of)};"
    "addEventListener('beforeprint',function(){" /* what is folded away is printed, too */
    "list(document.querySelectorAll('details')).forEach(function(part){part.open=true})});"
    "var next={none:'ascending',ascending:'descending',descending:'none'};"
    /* Cells without a number, of a column of numbers, come last in either direction. */
    "var compare=function(a,b,sign){"
    "var x=a.getAttribute('data-n'),y=b.getAttribute('data-n');"
    "if(x!==null&&y!==null)return sign*(Number(x)-Number(y));"
    "if(x!==null||y!==null)return x!==null?-1:1;"
    "return sign*a.textContent.localeCompare(b.textContent,undefined,{numeric:true})};"
    "list(document.querySelectorAll('table')).forEach(function(table){"
    "var heads=list(table.tHead.rows[0].cells);"
    "var rows=list(table.tBodies).reduce(function(all,body){return all.concat(list(body.rows))},[]);"
    "var home=rows.map(function(row){return row.parentNode});"
    "if(heads.length>3){table.className='rows';rows.forEach(function(row){list(row.cells).forEach(function(cell,i){"
    "if(cell.textContent&&cell.textContent!=='-')cell.setAttribute('data-title',heads[i].textContent)})})}"
    "heads.forEach(function(head,column){"
    "var button=document.createElement('button');button.type='button';"
    "while(head.firstChild)button.appendChild(head.firstChild);"
    "head.appendChild(button);head.setAttribute('aria-sort','none');"
    "button.addEventListener('click',function(){"
    "var order=next[head.getAttribute('aria-sort')];"
    "heads.forEach(function(other){other.setAttribute('aria-sort','none')});"
    "head.setAttribute('aria-sort',order);"
    "if(order==='none'){rows.forEach(function(row,i){home[i].appendChild(row)});return}"
    "rows.map(function(row,i){return{row:row,at:i}}).sort(function(a,b){"
    "return compare(a.row.cells[column],b.row.cells[column],order==='ascending'?1:-1)||a.at-b.at"
    "}).forEach(function(sorted){table.tBodies[0].appendChild(sorted.row)})"
    "})})})}());";

enum { BASE64 = sodium_base64_VARIANT_ORIGINAL, DIGEST_BYTES = crypto_hash_sha256_BYTES };

static void write_text(FILE *to, const char *text, const char *end)
{
    static const struct {
        char byte;
        const char *written;
    } escaped[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&#39;" } };

    for (const char *c = text; c < end; c++) {
        const char *written = NULL;
        for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
            if (*c == escaped[i].byte)
                written = escaped[i].written;
        if (written)
            fputs(written, to);
        else if ((unsigned char)*c < ' ' && *c != '\n' && *c != '\t') /* has no place in a page */
            fputs("&#65533;", to);
        else
            fputc(*c, to);
    }
}

void html_text(FILE *to, const char *text)
{
    write_text(to, text, text + strlen(text));
}

/* <name class="as"> */
static void write_tag(FILE *to, const char *name, const char *as)
{
    if (as)
        fprintf(to, "<%s class=\"%s\">", name, as);
    else
        fprintf(to, "<%s>", name);
}

void html_element(FILE *to, const char *name, const char *as, const char *fmt, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    write_tag(to, name, as);
    html_text(to, text);
    fprintf(to, "</%s>\n", name);
}

void html_lines(FILE *to, const char *as, const char *text)
{
    bool has_item = false;

    write_tag(to, "ul", as);
    fputc('\n', to);
    for (const char *line = text; *line;) {
        const size_t n_bytes = strcspn(line, "\n");
        char *copy = strndup(line, n_bytes);
        if (copy && *copy) {
            const bool is_head = *copy != ' ' && strncmp(line + n_bytes, "\n ", 2) == 0;
            write_tag(to, "li", is_head ? "head" : NULL);
            html_text(to, copy);
            fputs("</li>\n", to);
            has_item = true;
        }
        free(copy);
        line += n_bytes + (line[n_bytes] == '\n');
    }
    if (!has_item) /* a list has one at least */
        fputs("<li>-</li>\n", to);
    fputs("</ul>\n", to);
}

/* A colon before the first slash would make a file's name another protocol. */
void html_link(FILE *to, const char *href, const char *text)
{
    fputs("<a href=\"./", to);
    for (const char *c = href; *c; c++)
        if (strchr("%?#", *c))
            fprintf(to, "%%%02X", (unsigned char)*c);
        else
            html_text(to, (char[]){ *c, '\0' });
    fputs("\">", to);
    html_text(to, text);
    fputs("</a>\n", to);
}

/* --- a page --- */

/* 'sha256-...' of a part, as a policy has it. */
static void write_digest(FILE *to, const char *part)
{
    unsigned char digest[DIGEST_BYTES];
    char text[sodium_base64_ENCODED_LEN(DIGEST_BYTES, BASE64)];

    crypto_hash_sha256(digest, (const unsigned char *)part, strlen(part));
    sodium_bin2base64(text, sizeof text, digest, sizeof digest, BASE64);
    fprintf(to, "'sha256-%s'", text);
}

/* The digests of a part of all pages and of one of this page, which may be NULL. */
static void write_digests(FILE *to, const char *part, const char *own)
{
    write_digest(to, part);
    if (own) {
        fputc(' ', to);
        write_digest(to, own);
    }
}

/* own: NULL: none */
static void write_part(FILE *to, const char *name, const char *part, const char *own)
{
    fprintf(to, "<%s>%s</%s>\n", name, part, name);
    if (own)
        fprintf(to, "<%s>%s</%s>\n", name, own, name);
}

static void write_head(FILE *to, const char *title, const char *own_style, const char *own_script)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src ",
          to);
    write_digests(to, html_style, own_style);
    fputs("; script-src ", to);
    write_digests(to, html_script, own_script);
    fputs("; base-uri 'none'; form-action 'none'\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>",
          to);
    html_text(to, title);
    fputs("</title>\n", to);
    write_part(to, "style", html_style, own_style);
    fputs("</head>\n<body>\n<main>\n", to);
    html_element(to, "h1", NULL, "%s", title);
}

enum rc html_open(struct html *page, const char *path, const char *title)
{
    return html_open_with(page, path, title, NULL, NULL);
}

enum rc html_open_with(struct html *page, const char *path, const char *title, const char *style, const char *script)
{
    enum rc rc;

    *page = (struct html){ .file = { NULL }, .own_script = script };
    if (sodium_init() < 0)
        return rc_raise(RC_UNSUPPORTED, "libsodium cannot be started on this machine");
    TRY(atomic_file_open(&page->file, path));
    write_head(page->file.stream, title, style, script);
out:
    return rc;
}

enum rc html_finish(struct html *page, enum rc rc)
{
    if (rc == RC_OK) {
        fputs("</main>\n", page->file.stream);
        write_part(page->file.stream, "script", html_script, page->own_script);
        fputs("</body>\n</html>\n", page->file.stream);
    }
    return atomic_file_finish(&page->file, rc);
}

/* --- tables --- */

/* "2 of 10" */
static bool is_share(const char *behind)
{
    return strncmp(behind, " of ", 4) == 0;
}

/* "12 k", "12 k samples/s", "90 MB/s", "50 Gflop/s" */
static bool is_after_prefix(const char *text)
{
    return text[0] == '\0' || text[0] == ' ' || strncmp(text, "B/s", 3) == 0 || strncmp(text, "bit/s", 5) == 0 ||
           strncmp(text, "flop/s", 6) == 0;
}

/* The number that text begins with, and what is behind it; false: none. */
static bool number_of(const char *text, double *out, const char **behind)
{
    static const struct {
        char prefix;
        double factor;
    } prefixes[] = { { 'k', 1e3 }, { 'M', 1e6 }, { 'G', 1e9 } };
    char *end;

    if (text[strspn(text, "+-.")] < '0' || text[strspn(text, "+-.")] > '9')
        return false;
    *out = strtod(text, &end);
    if (end == text)
        return false;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (end[0] == ' ' && end[1] == prefixes[i].prefix && is_after_prefix(end + 2))
            *out *= prefixes[i].factor;
    *behind = end;
    return true;
}

/* report.W4: does "2 of 10" count as a number in this column? */
static bool has_shares_alone(const struct table *t, size_t column)
{
    const char *behind;
    double number;

    for (size_t row = 0; row < table_n_rows(t); row++) {
        const char *text = table_text(t, row, column);
        if (text && number_of(text, &number, &behind) && !is_share(behind))
            return false;
    }
    return true;
}

enum { WIDE_BYTES = 48 }; /* longer cells of text are folded */

static void write_cell(FILE *to, const char *text, enum align align, bool has_shares)
{
    const char *behind = "", *range = align == ALIGN_LEFT ? NULL : strchr(text, '(');
    double number;

    if (!range)
        range = text + strlen(text);
    if (align == ALIGN_LEFT)
        fputs(strlen(text) > WIDE_BYTES ? "<td class=\"wide\">" : "<td>", to);
    else if (number_of(text, &number, &behind) && (has_shares || !is_share(behind)))
        fprintf(to, "<td class=\"n\" data-n=\"%.9g\">", number);
    else
        fputs("<td class=\"n\">", to);
    write_text(to, text, range);
    if (*range) { /* "45.5 (34.0 to 46.9)": on a phone the range is below the number */
        fputs("<span>", to);
        html_text(to, range);
        fputs("</span>", to);
    }
    fputs("</td>", to);
}

static void write_titles(FILE *to, const struct table *t)
{
    fputs("<thead>\n<tr>", to);
    for (size_t i = 0; i < table_n_columns(t); i++) {
        fputs(table_column(t, i)->align == ALIGN_RIGHT ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">", to);
        html_text(to, table_column(t, i)->title);
        fputs("</th>", to);
    }
    fputs("</tr>\n</thead>\n", to);
}

enum rc html_table(FILE *to, const struct table *t, const char *caption)
{
    bool *has_shares = calloc(table_n_columns(t) + 1, sizeof *has_shares);
    enum rc rc;

    TRY(table_check(t));
    if (!has_shares)
        FAIL(RC_NOMEM, "no memory for a table of %zu columns", table_n_columns(t));
    for (size_t i = 0; i < table_n_columns(t); i++)
        has_shares[i] = has_shares_alone(t, i);
    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"", to);
    html_text(to, caption);
    fputs("\">\n<table>\n", to);
    html_element(to, "caption", NULL, "%s", caption);
    write_titles(to, t);
    fputs("<tbody>\n", to);
    for (size_t row = 0; row < table_n_rows(t); row++) {
        if (!table_text(t, row, 0)) {
            fputs("</tbody>\n<tbody>\n", to);
            continue;
        }
        fputs("<tr>", to);
        for (size_t i = 0; i < table_n_columns(t); i++)
            write_cell(to, table_text(t, row, i), table_column(t, i)->align, has_shares[i]);
        fputs("</tr>\n", to);
    }
    fputs("</tbody>\n</table>\n</div>\n", to);
out:
    free(has_shares);
    return rc;
}

enum rc html_table_finish(FILE *to, struct table *t, const char *caption)
{
    const enum rc rc = html_table(to, t, caption);

    table_close(&t);
    return rc;
}

/* --- pictures --- */

/* All bytes of a file, which the caller frees. */
static enum rc read_all(const char *path, unsigned char **out, size_t *n_bytes)
{
    unsigned char *bytes = NULL;
    FILE *from = NULL;
    struct stat about;
    enum rc rc = RC_OK;

    TRY(file_open_regular(&from, path, "a picture"));
    if (fstat(fileno(from), &about) != 0)
        FAIL(RC_IO, "%s: cannot be read: %s", path, strerror(errno));
    *n_bytes = (size_t)about.st_size;
    bytes = malloc(*n_bytes + 1);
    if (!bytes)
        FAIL(RC_NOMEM, "%s: no memory for %zu bytes", path, *n_bytes);
    if (fread(bytes, 1, *n_bytes, from) != *n_bytes)
        FAIL(RC_IO, "%s: cannot be read: %s", path, strerror(errno));
    *out = bytes;
    bytes = NULL;
out:
    free(bytes);
    if (from)
        fclose(from);
    return rc;
}

static const char *media_type(const char *path)
{
    const char *dot = strrchr(path, '.');

    if (dot && strcmp(dot, ".gif") == 0)
        return "image/gif";
    return dot && strcmp(dot, ".svg") == 0 ? "image/svg+xml" : "image/png";
}

static void write_figure(FILE *to, const char *type, const char *base64, const char *caption, int width_px,
                         int height_px)
{
    fprintf(to, "<figure>\n<div><img width=\"%d\" height=\"%d\" src=\"data:%s;base64,%s\" alt=\"", width_px, height_px,
            type, base64);
    html_text(to, caption);
    fputs("\"></div>\n", to);
    html_element(to, "figcaption", NULL, "%s", caption);
    fputs("</figure>\n", to);
}

enum rc html_svg(FILE *to, const char *svg, size_t n_bytes, const char *caption, int width_px, int height_px)
{
    const size_t n_text = sodium_base64_encoded_len(n_bytes, BASE64);
    char *text = malloc(n_text);

    if (!text)
        return rc_raise(RC_NOMEM, "no memory for a picture of %zu bytes", n_bytes);
    sodium_bin2base64(text, n_text, (const unsigned char *)svg, n_bytes, BASE64);
    write_figure(to, "image/svg+xml", text, caption, width_px, height_px);
    free(text);
    return RC_OK;
}

enum rc html_picture(FILE *to, const char *path, const char *caption, size_t most_bytes, size_t *n_bytes)
{
    unsigned char *bytes = NULL;
    char *text = NULL;
    size_t n_read = 0;
    enum rc rc;

    TRY(read_all(path, &bytes, &n_read));
    const size_t n_text = sodium_base64_encoded_len(n_read, BASE64);
    if (n_text > most_bytes)
        FAIL(RC_UNSUPPORTED, "%s: takes %zu bytes of a page, which has room for %zu", path, n_text, most_bytes);
    text = malloc(n_text);
    if (!text)
        FAIL(RC_NOMEM, "%s: no memory for %zu bytes", path, n_text);
    sodium_bin2base64(text, n_text, bytes, n_read, BASE64);
    write_figure(to, media_type(path), text, caption, 1600, 1000);
    *n_bytes = n_text;
out:
    free(text);
    free(bytes);
    return rc;
}
