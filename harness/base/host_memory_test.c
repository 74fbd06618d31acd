/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory_test.c - available memory out of files that the test writes, and of this machine. */
#include "harness/base/host_memory.h"

#include <sys/resource.h>

#include "harness/base/suite/file_tree.h"

static const char meminfo[] = "MemTotal:       24684100 kB\nMemFree:        23196044 kB\nMemAvailable:    1000000 kB\n";

TREE_TEST(an_unknown_system_sets_no_limit)
{
    struct tree *t = *state;

    assert_true(host_memory_available(t->root) == SIZE_MAX);
    put(t, "/proc/meminfo", "MemTotal: 5 kB\n");
    assert_true(host_memory_available(t->root) == SIZE_MAX);
    put(t, "/proc/self/cgroup", "no line of control groups\n");
    assert_true(host_memory_available(t->root) == SIZE_MAX);
}

TREE_TEST(without_groups_the_system_tells)
{
    struct tree *t = *state;

    put(t, "/proc/meminfo", meminfo);
    put(t, "/proc/self/cgroup", "0::/job\n");
    assert_int_equal(host_memory_available(t->root), 1024000000);
    put(t, "/sys/fs/cgroup/job/memory.max", "max\n");
    put(t, "/sys/fs/cgroup/job/memory.current", "5000\n");
    assert_int_equal(host_memory_available(t->root), 1024000000);
}

/* The least of a group and of those above it; cached files are room. */
TREE_TEST(groups_of_version_2_limit)
{
    struct tree *t = *state;

    put(t, "/proc/meminfo", meminfo);
    put(t, "/proc/self/cgroup", "0::/job/step\n");
    put(t, "/sys/fs/cgroup/job/memory.max", "90000\n");
    put(t, "/sys/fs/cgroup/job/memory.current", "70000\n");
    assert_int_equal(host_memory_available(t->root), 20000);
    put(t, "/sys/fs/cgroup/job/memory.stat", "file 50000\ninactive_file 30000\n");
    assert_int_equal(host_memory_available(t->root), 50000);
    put(t, "/sys/fs/cgroup/job/step/memory.max", "40000\n");
    put(t, "/sys/fs/cgroup/job/step/memory.current", "1000\n");
    assert_int_equal(host_memory_available(t->root), 39000);
    put(t, "/sys/fs/cgroup/job/step/memory.current", "41000\n");
    assert_int_equal(host_memory_available(t->root), 0);
}

/* In a container the path is one of the host, and the container's own group is the root. */
TREE_TEST(groups_of_version_1_limit)
{
    struct tree *t = *state;

    put(t, "/proc/meminfo", meminfo);
    put(t, "/proc/self/cgroup", "4:cpu,cpuacct:/docker/1\n3:memory:/docker/1\n1:name=systemd:/\n");
    put(t, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "60000\n");
    put(t, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "20000\n");
    put(t, "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file 5000\n");
    assert_int_equal(host_memory_available(t->root), 45000);
}

UNIT_TEST(this_machine_has_some)
{
    assert_true(host_memory_available("") > (size_t)1 << 20);
}

/* ulimit -v, with and without room for what is asked for. */
UNIT_TEST(the_address_space_may_be_limited)
{
    const size_t room_bytes = (size_t)1 << 30;
    size_t used_kib = 0;
    struct rlimit before, limit;
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");

    assert_non_null(file);
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "VmSize: %zu kB", &used_kib);
    (void)fclose(file);
    assert_true(used_kib > 0);
    assert_int_equal(host_memory_check_limit(room_bytes, "nobody"), RC_OK);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limit = (struct rlimit){ used_kib * 1024 + room_bytes, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    const size_t available_bytes = host_memory_available("");
    const enum rc fits = host_memory_check_limit(room_bytes / 2, "nobody"),
                  is_too_much = host_memory_check_limit(2 * room_bytes, "the ranks");
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(available_bytes <= room_bytes - ((size_t)256 << 20));
    assert_int_equal(fits, RC_OK);
    assert_int_equal(is_too_much, RC_NOMEM);
    assert_non_null(strstr(rc_message(), "2048 MiB of address space that the ranks may need; raise it"));
}

UNIT_MAIN("host_memory")
