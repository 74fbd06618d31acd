/* SPDX-License-Identifier: Apache-2.0 */
/* base_test.c - errors, numbers from text, random numbers, arenas, files. */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/arena.h"
#include "harness/base/file.h"
#include "harness/base/host_memory.h"
#include "harness/base/rc.h"
#include "harness/base/rng.h"
#include "harness/base/suite/names.h"
#include "harness/base/suite/text_files.h"
#include "harness/base/suite/unit.h"
#include "harness/base/text.h"

UNIT_TEST(rc_names_and_sentences_exist)
{
#define X(id, val, text)                              \
    assert_string_equal(rc_name(RC_##id), "RC_" #id); \
    assert_string_equal(rc_text(RC_##id), text);
    RC_LIST(X)
#undef X
    assert_string_equal(rc_name((enum rc)99), "RC_UNKNOWN");
}

UNIT_TEST(rc_raise_takes_its_own_message)
{
    assert_int_equal(rc_raise(RC_IO, "disk %d", 7), RC_IO);
    assert_string_equal(rc_message(), "disk 7");
    assert_int_equal(rc_raise(RC_PEER, "rank 1: %s", rc_message()), RC_PEER);
    assert_string_equal(rc_message(), "rank 1: disk 7");
    rc_clear();
    assert_string_equal(rc_message(), "");
}

UNIT_TEST(a_prefix_comes_before_the_message)
{
    char long_text[2 * RC_MESSAGE_BYTES];

    assert_int_equal(rc_raise(RC_IO, "disk %d", 7), RC_IO);
    assert_int_equal(rc_prefix(RC_OK, "never %d", 1), RC_OK);
    assert_string_equal(rc_message(), "disk 7");
    assert_int_equal(rc_prefix(RC_IO, "--out %d %%: ", 3), RC_IO);
    assert_string_equal(rc_message(), "--out 3 %: disk 7");
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    assert_int_equal(rc_prefix(RC_PEER, "%s", long_text), RC_PEER);
    assert_int_equal(strlen(rc_message()), RC_MESSAGE_BYTES - 1);
    rc_clear();
}

static enum rc fail_below(void)
{
    enum rc rc;

    TRY(rc_raise(RC_IO, "below"));
out:
    return rc;
}

UNIT_TEST(rc_trace_names_every_frame)
{
    char text[2048] = "";
    FILE *to = fmemopen(text, sizeof text, "w");

    assert_non_null(to);
    assert_int_equal(rc_prefix(fail_below(), "place: "), RC_IO);
    rc_print_trace(to);
    fclose(to);
    assert_non_null(strstr(text, "RC_IO"));
    assert_non_null(strstr(text, "rc_raise(RC_IO, \"below\")")); /* a prefix does not hide it */
}

UNIT_TEST(nearest_is_near_or_nothing)
{
    static const char *const known[] = { "threads", "mpi", "sim", NULL };

    assert_string_equal(text_nearest("thread", known), "threads");
    assert_string_equal(text_nearest("MPI", known), "mpi");
    assert_string_equal(text_nearest("sin", known), "sim");
    assert_string_equal(text_nearest("mip", known), "mpi");
    assert_string_equal(text_nearest("thraeds", known), "threads");
    assert_null(text_nearest("parameterserver", known));
    const char *const words[] = { "batch", "learning-rate", "lr-staleness", NULL };
    assert_string_equal(text_nearest("batch-size", words), "batch");
    assert_string_equal(text_nearest("batch_size", words), "batch");
    assert_string_equal(text_nearest("lr", words), "learning-rate"); /* the first */
    assert_string_equal(text_nearest("learning", words), "learning-rate");
    assert_null(text_nearest("lx", words));
    assert_string_equal(text_nearest("batches-each", words), "batch");
    assert_string_equal(text_nearest("learn", words), "learning-rate");
    assert_int_equal(text_choice("none|linear|sqrt", "none"), 0);
    assert_int_equal(text_choice("none|linear|sqrt", "sqrt"), 2);
    assert_int_equal(text_choice("none|linear|sqrt", "line"), -1);
    assert_int_equal(text_choice("none|linear|sqrt", ""), -1);
    assert_int_equal(text_typographic_dashes("\xe2\x80\x93workers"), 3);
    assert_int_equal(text_typographic_dashes("\xe2\x88\x92\xe2\x80\x90w"), 6);
    assert_int_equal(text_typographic_dashes("--workers"), 0);
    assert_null(text_nearest("ring", (const char *const[]){ "single", "none", NULL }));
    assert_null(text_nearest("dreads", (const char *const[]){ "threaded", NULL }));
    assert_null(text_nearest("0123456789012345678901234567890123456789012345678901234567890123456789", known));
}

UNIT_TEST(numbers_are_whole_and_finite)
{
    static const char *const bad_u64[] = {
        "", "-1", "+1", " 1", "1 ", "1.5", "x", "18446744073709551616", "20000000000G", "1Q"
    };
    static const char *const bad_f64[] = { "", "nan", "inf", "-inf", "0x10", "1e999", "1 ", " 1", "1.5x", "--1" };
    uint64_t whole;
    double real;

    for (size_t i = 0; i < sizeof bad_u64 / sizeof *bad_u64; i++)
        assert_false(text_to_u64(bad_u64[i], &whole));
    for (size_t i = 0; i < sizeof bad_f64 / sizeof *bad_f64; i++)
        assert_false(text_to_f64(bad_f64[i], &real));
    assert_true(text_to_u64("18446744073709551615", &whole) && whole == UINT64_MAX);
    assert_true(text_to_u64("64Ki", &whole) && whole == 65536);
    assert_true(text_to_u64("3M", &whole) && whole == 3000000);
    assert_true(text_to_plain_u64("2222", &whole) && whole == 2222);
    assert_false(text_to_plain_u64("2K", &whole));
    assert_false(text_to_plain_u64("", &whole));
    assert_true(text_is_ipv6("2001:db8::1") && text_is_ipv6("[::1]:2") && text_is_ipv6("fe80::1%eth0"));
    assert_false(text_is_ipv6("node1:2222") || text_is_ipv6("10.0.0.1") || text_is_ipv6(""));
    assert_true(text_to_f64("-2.5e-3", &real) && real == -2.5e-3);
}

UNIT_TEST(sizes_have_a_suffix_that_leaves_nothing_out)
{
    static const uint64_t sizes[] = { 0, 999, 1024, 1500, 4194304, 3000000, 5ull << 30, 1ull << 50, UINT64_MAX };
    static const char *const texts[] = { "0",    "999",       "1Ki",
                                         "1500", "4Mi",       "3M",
                                         "5Gi",  "1048576Gi", "18446744073709551615" };
    char text[24];
    uint64_t again;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        text_of_size(text, sizeof text, sizes[i]);
        assert_string_equal(text, texts[i]);
        assert_true(text_to_u64(text, &again) && again == sizes[i]);
    }
}

/* Each reads back as the same value, and no digit is there for nothing. */
UNIT_TEST(numbers_are_written_short)
{
    static const struct {
        double value;
        const char *text, *of_float;
    } cases[] = { { 0.1, "0.1", "0.1" },
                  { 1.0 / 3, "0.3333333333333333", "0.33333334" },
                  { 150000, "150000", "150000" },
                  { 0.1 + 0.2, "0.30000000000000004", "0.3" },
                  { 16777217, "16777217", "16777216" },
                  { 2.5e-7, "2.5e-07", "2.5e-07" } };
    char text[32];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_of_f64(text, cases[i].value);
        assert_string_equal(text, cases[i].text);
        assert_true(strtod(text, NULL) == cases[i].value);
        text_of_f32(text, (float)cases[i].value);
        assert_string_equal(text, cases[i].of_float);
        assert_true(strtof(text, NULL) == (float)cases[i].value);
    }
}

UNIT_TEST(lists_are_stepped_through)
{
    const char *rest = "1,,abcdef";
    char element[4];

    assert_true(text_next(&rest, element, sizeof element));
    assert_string_equal(element, "1");
    assert_true(text_next(&rest, element, sizeof element));
    assert_string_equal(element, "");
    assert_true(text_next(&rest, element, sizeof element));
    assert_string_equal(element, "abc");
    assert_false(text_next(&rest, element, sizeof element));
}

UNIT_TEST(permutations_are_permutations)
{
    static const uint64_t sizes[] = { 1, 2, 3, 7, 16, 17, 1000, 1437 };
    char *seen = calloc(1437, 1);
    uint64_t n_fixed = 0;

    assert_non_null(seen);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t key = 0; key < 3; key++) {
            memset(seen, 0, 1437);
            for (uint64_t i = 0; i < sizes[s]; i++) {
                const uint64_t at = rng_permute(5, key, i, sizes[s]);
                assert_true(at < sizes[s]);
                assert_int_equal(seen[at]++, 0);
                n_fixed += sizes[s] == 1437 && at == i;
            }
        }
    assert_true(n_fixed < 20); /* a shuffle: about one fixed point each */
    free(seen);
}

UNIT_TEST(numbers_have_their_moments)
{
    enum { N = 20000 };
    double sum = 0, sum_squares = 0, uniform = 0;

    for (uint64_t i = 0; i < N; i++) {
        const double x = rng_normal(3, RNG_INIT, i);
        sum += x;
        sum_squares += x * x;
        uniform += rng_uniform(3, RNG_DATA_X, i);
    }
    assert_true(sum / N > -0.03 && sum / N < 0.03);
    assert_true(sum_squares / N > 0.97 && sum_squares / N < 1.03);
    assert_true(uniform / N > 0.49 && uniform / N < 0.51);
    assert_true(rng_u64(1, RNG_INIT, 0) != rng_u64(2, RNG_INIT, 0));
    assert_true(rng_u64(1, RNG_INIT, 0) != rng_u64(1, RNG_TEST, 0));
}

/* Samples, their order and initial parameters follow from a seed for ever, on every machine: values of an
 * implementation of rng.h's formulas (SplitMix64's finaliser, thrice; Box and Muller) in another language, with
 * integers of any size. */
UNIT_TEST(numbers_are_those_of_their_formulas)
{
    assert_true(rng_u64(1, RNG_DATA_X, 0) == UINT64_C(0x5775264a9a7e1b09));
    assert_true(rng_u64(7, RNG_DATA_X, 5) == UINT64_C(0xefe087abb6436965));
    assert_true(rng_uniform(7, RNG_DATA_X, 5) == 0.9370198053568523);
    assert_true(fabs(rng_normal(7, RNG_DATA_X, 0) - 0.26757741596142776) < 1e-12);
    assert_true(fabs(rng_normal(7, RNG_DATA_X, 5) + 0.5941683817480337) < 1e-12);
}

UNIT_TEST(large_memory_begins_on_a_huge_page)
{
    const size_t n_large_bytes = ((size_t)2 << 20) + 1;
    char *small = huge_alloc(1), *large = huge_alloc(n_large_bytes);

    assert_true(small && large);
    assert_int_equal((uintptr_t)small % 64, 0);
    assert_int_equal((uintptr_t)large % ((size_t)2 << 20), 0);
    large[0] = large[n_large_bytes - 1] = 1;
    free(small);
    free(large);
}

/* All of this process's memory in transparent huge pages. */
static size_t all_huge_bytes(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    size_t n_kib = 0;
    char line[256];

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "AnonHugePages:", 14) == 0)
            n_kib = strtoull(line + 14, NULL, 10);
    if (file)
        (void)fclose(file);
    return n_kib * 1024;
}

/* What there is, not what was asked for: neighbours of either kind, asked in the middle. */
UNIT_TEST(pages_are_told)
{
    enum { N = 8 };
    const size_t n_bytes = N * HUGE_PAGE_BYTES;
    char *map = mmap(NULL, 3 * n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *small = map + HUGE_PAGE_BYTES - (uintptr_t)map % HUGE_PAGE_BYTES, *large = small + n_bytes;
    enum pages told;
    bool granted;

    assert_true(map != MAP_FAILED);
    assert_int_equal(madvise(small, n_bytes, MADV_NOHUGEPAGE), 0);
    const size_t before_bytes = all_huge_bytes();
    const bool asked = madvise(large, n_bytes, MADV_HUGEPAGE) == 0; /* a kernel may have none */
    memset(small, 1, 2 * n_bytes);
    assert_int_equal(pages_of(small + 4096, n_bytes), PAGES_SMALL);
    do { /* the kernel may make huge pages later, too */
        granted = asked && all_huge_bytes() > before_bytes + n_bytes / 2;
        told = pages_of(large + n_bytes / 2, HUGE_PAGE_BYTES);
    } while (granted != (asked && all_huge_bytes() > before_bytes + n_bytes / 2));
    assert_int_equal(told, granted ? PAGES_TRANSPARENT : PAGES_SMALL);
    assert_int_equal(pages_of(large, HUGE_PAGE_BYTES - 1), PAGES_SMALL); /* fits in no huge page of its own */
    assert_int_equal(pages_of(NULL, n_bytes), PAGES_SMALL);
    assert_int_equal(madvise(large, n_bytes, MADV_DONTNEED), 0);
    large[0] = 1; /* one huge page of N, at most */
    assert_int_equal(pages_of(large, n_bytes), PAGES_SMALL);
    assert_int_equal(munmap(map, 3 * n_bytes), 0);
    assert_string_equal(pages_text(PAGES_SMALL), "small");
}

UNIT_TEST(arenas_are_aligned_and_zero)
{
    struct arena a = { 0 };

    assert_int_equal(arena_open(&a, arena_floats_bytes(3) + arena_floats_bytes(1 << 20)), RC_OK);
    const float *small = arena_floats(&a, 3), *large = arena_floats(&a, 1 << 20);
    assert_int_equal((uintptr_t)small % ARENA_ALIGN_BYTES, 0);
    assert_int_equal((uintptr_t)large % ARENA_ALIGN_BYTES, 0);
    assert_true(large >= small + 3);
    for (size_t i = 0; i < 1 << 20; i++)
        assert_true(large[i] == 0.0f);
    arena_close(&a);
    arena_close(&a);
    assert_int_equal(arena_open(&a, 0), RC_OK);
    arena_close(&a);
    assert_int_equal(arena_open(&a, SIZE_MAX / 4), RC_NOMEM);
    assert_null(a.base);
}

UNIT_TEST(shell_words_are_quoted)
{
    static const struct {
        const char *text, *word;
    } cases[] = { { "results/2026-11-22-compare", "results/2026-11-22-compare" },
                  { "", "''" },
                  { "my results/x", "'my results/x'" },
                  { "it's", "'it'\\''s'" },
                  { "'", "''\\'''" },
                  { "~a", "'~a'" },
                  { "a\"$b`", "'a\"$b`'" },
                  { "\xc3\xa4", "'\xc3\xa4'" } };
    char word[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_shell_word(word, 4 * strlen(cases[i].text) + 3, cases[i].text);
        assert_string_equal(word, cases[i].word);
    }
}

UNIT_TEST(what_fits_is_near)
{
    static const struct {
        uint64_t n, with;
        const char *multiples, *divisors;
    } cases[] = { { 64, 3, "63 or 66", "3" }, { 2, 3, "3", "3" }, { 5, 32, "32", "4 or 8" },
                  { 3, 64, "64", "2 or 4" },  { 2, 5, "5", "5" }, { 99, 16, "96 or 112", "16" },
                  { 4, 6, "6", "3 or 6" },    { 0, 1, "1", "1" } };
    char text[48];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text_near_multiples(text, sizeof text, cases[i].n, cases[i].with);
        assert_string_equal(text, cases[i].multiples);
        text_near_divisors(text, sizeof text, cases[i].n, cases[i].with);
        assert_string_equal(text, cases[i].divisors);
    }
    text_near_multiples(text, sizeof text, UINT64_MAX, 7);
    assert_string_equal(text, "18446744073709551614");
}

UNIT_TEST(marks_of_editors_are_dropped)
{
    static const struct {
        const char *text, *left;
    } cases[] = { { "", "" },
                  { "a\n", "a\n" },
                  { "\xef\xbb\xbf", "" },
                  { "\xef\xbb\xbf"
                    "a\r\n\r\nb\r\n",
                    "a\n\nb\n" },
                  { "a\rb\r\r\n\r", "a\rb\r\n\r" },
                  { "a\xef\xbb\xbf", "a\xef\xbb\xbf" },
                  { "\xef\xbb", "\xef\xbb" } };
    char text[16] = "a\0\r\n";

    assert_int_equal(text_drop_marks(text, 4), 3);
    assert_memory_equal(text, "a\0\n", 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "%s", cases[i].text);
        assert_int_equal(text_drop_marks(text, strlen(text)), strlen(cases[i].left));
        assert_string_equal(text, cases[i].left);
    }
}

static void read_text(char *out, size_t n_bytes, const char *path)
{
    FILE *from = fopen(path, "r");

    assert_non_null(from);
    out[fread(out, 1, n_bytes - 1, from)] = '\0';
    fclose(from);
}

UNIT_TEST(files_are_whole_or_absent)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], text[64];
    struct atomic_file f = { 0 };

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    write_text(path, "old");
    assert_int_equal(atomic_file_open(&f, path), RC_OK);
    fputs("new", f.stream);
    read_text(text, sizeof text, path);
    assert_string_equal(text, "old");
    assert_int_equal(atomic_file_commit(&f), RC_OK);
    read_text(text, sizeof text, path);
    assert_string_equal(text, "new");
    assert_int_equal(atomic_file_open(&f, path), RC_OK);
    fputs("dropped", f.stream);
    atomic_file_discard(&f);
    read_text(text, sizeof text, path);
    assert_string_equal(text, "new");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* no temporary was left */
}

UNIT_TEST(files_that_cannot_be_written_say_why)
{
    struct atomic_file f = { 0 };

    assert_int_equal(atomic_file_open(&f, "/no/such/folder/x"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/no/such/folder/x"));
    assert_int_equal(atomic_file_open(&f, "/"), RC_INVAL);
    assert_int_equal(atomic_file_open(&f, ""), RC_INVAL);
    assert_int_equal(atomic_file_open(&f, "/dev/null"), RC_INVAL); /* would replace the device */
    assert_int_equal(file_make_folder(""), RC_INVAL);
    assert_null(f.stream);
}

/* What is there stays as it was; nothing new is left beside it. */
UNIT_TEST(writable_is_found_out_without_a_trace)
{
    char folder[] = "/tmp/base_test.XXXXXX", path[64], text[16];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    assert_int_equal(file_check_writable(""), RC_OK);
    assert_int_equal(file_check_writable(path), RC_OK);
    assert_int_equal(access(path, F_OK), -1);
    write_text(path, "kept");
    assert_int_equal(file_check_writable(path), RC_OK);
    read_text(text, sizeof text, path);
    assert_string_equal(text, "kept");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_check_writable(folder), RC_INVAL);
    assert_non_null(strstr(rc_message(), folder));
    assert_int_equal(file_check_writable("/no/such/folder/file"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "/no/such/folder/file"));
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

/* A peak holds memory that was freed, until it is reset. */
UNIT_TEST(peak_rss_begins_anew)
{
    enum { N_BYTES = 64 << 20 };
    const double before_bytes = peak_rss_bytes();

    if (isnan(before_bytes) || !peak_rss_reset())
        skip(); /* this system has no such figure */
    void *memory = mmap(NULL, N_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, N_BYTES);
    munmap(memory, N_BYTES);
    const double with_bytes = peak_rss_bytes();
    assert_true(with_bytes >= N_BYTES);
    assert_true(peak_rss_reset());
    assert_true(peak_rss_bytes() < with_bytes - N_BYTES / 2);
}

/* A device that is full: the error is found, nothing is renamed. */
UNIT_TEST(short_writes_are_found)
{
    char folder[] = "gm_base_test.XXXXXX", path[64];
    struct atomic_file f = { 0 };
    struct stat about;

    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/out", folder);
    assert_int_equal(atomic_file_open(&f, path), RC_OK);
    f.stream = freopen("/dev/full", "w", f.stream);
    assert_non_null(f.stream);
    fputs("lost", f.stream);
    assert_int_equal(atomic_file_commit(&f), RC_IO);
    assert_int_not_equal(stat(path, &about), 0);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_TEST(links_stay_links)
{
    char folder[] = "gm_base_test.XXXXXX", path[64], link[64], text[64];
    struct atomic_file f = { 0 };
    struct stat about;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/target", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    write_text(path, "old");
    assert_int_equal(symlink("target", link), 0);
    assert_int_equal(atomic_file_open(&f, link), RC_OK);
    fputs("new", f.stream);
    assert_int_equal(atomic_file_commit(&f), RC_OK);
    assert_int_equal(lstat(link, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    read_text(text, sizeof text, path);
    assert_string_equal(text, "new");
    unlink(link);
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
}

UNIT_TEST(folders_are_made_whole)
{
    char folder[] = "gm_base_test.XXXXXX", path[64];

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a/b", folder);
    assert_int_equal(file_make_folder(path), RC_OK);
    assert_int_equal(file_make_folder(path), RC_OK);
    assert_int_equal(rmdir(path), 0);
    write_text(path, "in the way");
    assert_int_equal(file_make_folder(path), RC_INVAL);
    unlink(path);
    snprintf(path, sizeof path, "%s/a", folder);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* What assert_names() of other tests tells apart. */
UNIT_TEST(names_stand_in_order_and_whole)
{
    static const char said[] = "--workers 0: out of range, must be from 1 to 65536 (4.5 %)";
    static const struct {
        const char *names;
        bool is_there;
    } cases[] = {
        { "--workers 0", true },
        { "--workers 0: ... 1 ... 65536", true },
        { "4.5 %", true },
        { "--workers 0: ... 6", false },
        { "workers 0 ... 5536", false },
        { "--worker", false },
        { "65536 ... 1 ", false },
        { "--workers 1", false },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(has_names(said, cases[i].names), cases[i].is_there);
    assert_false(has_names("--autotune-file f: is empty", "--autotune"));
}

UNIT_MAIN("base")
