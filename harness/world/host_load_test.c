/* SPDX-License-Identifier: Apache-2.0 */
/* host_load_test.c - what is read out of files that the test writes, and of this machine. */
#include "harness/world/host_load.h"

#include <math.h>

#include "harness/base/suite/file_tree.h"

static const char STAT[] = "cpu  100 20 30 4000 500 6 7 80 90 11\n"
                           "cpu0 60 20 30 2000 500 6 7 80 90 11\n"
                           "cpu1 40 0 0 2000 0 0 0 0 0 0\n"
                           "cpu12 40 0 0 2000 0 0 0 0 0 0\n"
                           "intr 5 6 7\n"
                           "cpufreq 1 2 3 4 5 6 7 8\n";

/* The 39th word is 12; the name holds blanks and brackets. */
static const char SELF[] =
    "77 (a) b (c 5) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 "
    "31 32 33 34 35 36 37 38 12 40 41 42 43 44\n";

#define assert_near(value, expected) assert_within(value, expected, 1e-12)

/* In ticks of 10 ms: user, nice, system, irq and softirq, 100 + 20 + 30 + 6 + 7; not idle, iowait, steal and guests. */
TREE_TEST(busy_is_not_idle_nor_stolen)
{
    struct tree *t = *state;
    struct host_load l;

    assert_int_equal(sysconf(_SC_CLK_TCK), 100);
    put(t, "/proc/stat", STAT);
    host_load_read(&l, t->root);
    assert_int_equal(l.n_cores, 3);
    assert_near(l.busy_s, 1.63);
    assert_near(l.steal_s, 0.8);
    assert_true(isnan(l.frequency_hz));
}

TREE_TEST(the_frequency_is_that_of_the_own_core)
{
    struct tree *t = *state;
    struct host_load l;

    put(t, "/proc/thread-self/stat", SELF);
    host_load_read(&l, t->root);
    assert_true(isnan(l.frequency_hz));
    put(t, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
    host_load_read(&l, t->root);
    assert_true(isnan(l.frequency_hz));
    put(t, "/sys/devices/system/cpu/cpu12/cpufreq/scaling_cur_freq", "2600000\n");
    host_load_read(&l, t->root);
    assert_near(l.frequency_hz, 2.6e9);
    put(t, "/sys/devices/system/cpu/cpu12/cpufreq/scaling_cur_freq", "<unknown>\n");
    host_load_read(&l, t->root);
    assert_true(isnan(l.frequency_hz));
}

static void assert_nothing_is_known(const struct tree *t)
{
    struct host_load l;

    host_load_read(&l, t->root);
    assert_int_equal(l.n_cores, 0);
    assert_true(isnan(l.busy_s) && isnan(l.steal_s) && isnan(l.frequency_hz));
}

/* No files; an empty one; a total of too few fields; a total without cores; cores without a total. */
TREE_TEST(what_is_not_told_is_not_known)
{
    static const char *const stat[] = { "", "cpu  100 20 30 4000 500 6 7\ncpu0 1 2 3 4 5 6 7\n",
                                        "cpu  100 20 30 4000 500 6 7 80 90 11\n",
                                        "cpu0 100 20 30 4000 500 6 7 80 90 11\n", "cpu  a b c d e f g h\ncpu0 1\n" };
    static const char *const self[] = { "", "77 no brackets", "77 (short) R 4 5 6", "77 (x) R", "77 (x)" };
    struct tree *t = *state;

    assert_nothing_is_known(t);
    put(t, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
    for (size_t i = 0; i < sizeof stat / sizeof *stat; i++) {
        put(t, "/proc/stat", stat[i]);
        put(t, "/proc/thread-self/stat", self[i]);
        assert_nothing_is_known(t);
    }
}

TREE_TEST(the_kernel_is_named_by_its_boot)
{
    struct tree *t = *state;
    char id[HOST_KERNEL_BYTES] = "before";

    host_kernel_id(id, t->root);
    assert_string_equal(id, "");
    put(t, "/proc/sys/kernel/random/boot_id", "01234567-89ab-cdef-0123-456789abcdef\n");
    host_kernel_id(id, t->root);
    assert_string_equal(id, "01234567-89ab-cdef-0123-456789abcdef");
    put(t, "/proc/sys/kernel/random/boot_id", "0123456789012345678901234567890123456789 and more than fits\n");
    host_kernel_id(id, t->root);
    assert_string_equal(id, "012345678901234567890123456789012345678");
}

/* Clocks of this machine go on while this process works; what was used of them is no more than there is. */
UNIT_TEST(this_process_uses_its_own_time)
{
    struct host_load before, after;
    volatile double sum = 0;

    host_load_read(&before, "");
    do {
        for (int i = 0; i < 1000000; i++)
            sum += i;
        host_load_read(&after, "");
    } while (!(after.own_s > before.own_s + 0.01));
    assert_true(after.now_ns > before.now_ns);
    if (before.n_cores > 0) {
        assert_int_equal(after.n_cores, before.n_cores);
        assert_true(after.busy_s >= before.busy_s && before.busy_s > 0);
        assert_true(after.steal_s >= before.steal_s);
    }
    assert_true(isnan(after.frequency_hz) || after.frequency_hz > 0);
}

UNIT_MAIN("host_load")
