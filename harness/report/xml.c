/* SPDX-License-Identifier: Apache-2.0 */
/* xml.c - text in XML 1.0 documents: SVG, JUnit; see xml.h. */
#include "harness/report/xml.h"

#include <string.h>

static const char REPLACEMENT[] = "\xef\xbf\xbd";

/* The ranges are those of the Unicode standard, table 3-7: no surrogates, no overlong forms. */
size_t utf8_sequence_bytes(const char *text, size_t n_bytes)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : s[0] >= 0xe0 && s[0] < 0xf0 ? 3 : 4;

    if (n == 1)
        return 1;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > n_bytes)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (s[i] < 0x80 || s[i] > 0xbf)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return n;
}

bool utf8_is_valid(const char *text)
{
    size_t n_left = strlen(text);

    for (size_t n; n_left > 0; text += n, n_left -= n) {
        n = utf8_sequence_bytes(text, n_left);
        if (n == 0)
            return false;
    }
    return true;
}

/* U+FFFE and U+FFFF are no characters of XML. */
static int has_no_place(const char *s, size_t n)
{
    return n == 3 && memcmp(s, "\xef\xbf", 2) == 0 && (unsigned char)s[2] >= 0xbe;
}

static const char *escape_of(char c)
{
    switch (c) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    case '\t':
        return "&#9;";
    default:
        return (unsigned char)c < ' ' ? REPLACEMENT : NULL;
    }
}

void xml_text(FILE *to, const char *text)
{
    for (size_t n_left = strlen(text); n_left > 0;) {
        const size_t n = utf8_sequence_bytes(text, n_left);
        const char *escape = n == 1 ? escape_of(*text) : n == 0 || has_no_place(text, n) ? REPLACEMENT : NULL;

        if (escape)
            fputs(escape, to);
        else
            fwrite(text, 1, n, to);
        text += n > 0 ? n : 1;
        n_left -= n > 0 ? n : 1;
    }
}

void xml_attribute(FILE *to, const char *name, const char *text)
{
    fprintf(to, " %s=\"", name);
    xml_text(to, text);
    fputc('"', to);
}
