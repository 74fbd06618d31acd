/* SPDX-License-Identifier: Apache-2.0 */
/* node_facts_test.c - what is read out of files that the test writes, and of this machine. */
#include "harness/accept/node_facts.h"

#include <math.h>

#include "harness/base/suite/file_tree.h"
#include "harness/report/manifest.h"

UNIT_TEST_WITH(links_tell_state_and_speed, open_tree, close_tree)
{
    struct tree *t = *state;
    struct node_facts f;

    put(t, "/sys/class/net/eth0/device/vendor", "0x15b3\n");
    put(t, "/sys/class/net/eth0/operstate", "up\n");
    put(t, "/sys/class/net/eth0/speed", "25000\n");
    node_facts_init(&f);
    node_facts_read_link(&f, t->root, "eth0");
    assert_string_equal(f.text[TEXT_LINK_STATE], "up");
    assert_true(f.number[NUMBER_LINK_BITS_PER_S] == 25e9);
    put(t, "/sys/class/net/eth0/speed", "-1\n");
    put(t, "/sys/class/net/eth0/operstate", "down\n");
    node_facts_init(&f);
    node_facts_read_link(&f, t->root, "eth0");
    assert_string_equal(f.text[TEXT_LINK_STATE], "down");
    assert_true(isnan(f.number[NUMBER_LINK_BITS_PER_S]));
}

/* The speed of a veth is a number that nobody measured. */
UNIT_TEST_WITH(links_without_hardware_tell_nothing, open_tree, close_tree)
{
    struct tree *t = *state;
    struct node_facts f;

    put(t, "/sys/class/net/veth0/operstate", "up\n");
    put(t, "/sys/class/net/veth0/speed", "10000\n");
    node_facts_init(&f);
    node_facts_read_link(&f, t->root, "veth0");
    assert_string_equal(f.text[TEXT_LINK_STATE], "");
    assert_true(isnan(f.number[NUMBER_LINK_BITS_PER_S]));
    node_facts_read_link(&f, t->root, "eth7");
    assert_string_equal(f.text[TEXT_LINK_STATE], "");
}

UNIT_TEST_WITH(drivers_have_their_version, open_tree, close_tree)
{
    struct tree *t = *state;
    struct node_facts f;

    node_facts_init(&f);
    node_facts_read(&f, t->root);
    assert_string_equal(f.text[TEXT_GPU_DRIVER], "");
    assert_string_equal(f.text[TEXT_INFINIBAND], "");
    put(t, "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun  6 22:20:39 UTC 2023\nGCC version: 12\n");
    node_facts_read(&f, t->root);
    assert_string_equal(f.text[TEXT_GPU_DRIVER], "535.54.03");
    put(t, "/proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build\n");
    node_facts_read(&f, t->root);
    assert_string_equal(f.text[TEXT_GPU_DRIVER], "580.65.06");
}

UNIT_TEST_WITH(every_port_of_infiniband_is_told, open_tree, close_tree)
{
    struct tree *t = *state;
    struct node_facts f;

    put(t, "/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    put(t, "/sys/class/infiniband/mlx5_1/ports/1/rate", "10 Gb/sec (4X SDR)\n");
    put(t, "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put(t, "/sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    node_facts_init(&f);
    node_facts_read(&f, t->root);
    assert_string_equal(f.text[TEXT_INFINIBAND],
                        "mlx5_0/1 4: ACTIVE, 100 Gb/sec (4X EDR); mlx5_1/1 1: DOWN, 10 Gb/sec (4X SDR)");
    assert_true(isnan(f.number[NUMBER_LINK_BITS_PER_S]));
    put(t, "/sys/class/infiniband/mlx5_1/ports/1/rate", "400 Gb/sec (4X NDR)\n"); /* but it is down */
    f.number[NUMBER_LINK_BITS_PER_S] = 25e9;                                      /* of eth0 */
    node_facts_read_fastest_port(&f, t->root);
    assert_true(f.number[NUMBER_LINK_BITS_PER_S] == 100e9);
    put(t, "/sys/class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
    node_facts_read_fastest_port(&f, t->root);
    assert_true(f.number[NUMBER_LINK_BITS_PER_S] == 400e9);
    f.number[NUMBER_LINK_BITS_PER_S] = 800e9;
    node_facts_read_fastest_port(&f, t->root);
    assert_true(f.number[NUMBER_LINK_BITS_PER_S] == 800e9);
    f.number[NUMBER_LINK_BITS_PER_S] = NAN; /* a node that has ports alone */
    node_facts_read_fastest_port(&f, t->root);
    assert_true(f.number[NUMBER_LINK_BITS_PER_S] == 400e9);
}

UNIT_TEST(this_machine_tells)
{
    struct node_facts f;
    char version[NODE_TEXT_BYTES];

    node_facts_init(&f);
    node_facts_read(&f, "");
    manifest_version(version, sizeof version);
    assert_string_equal(f.text[TEXT_BUILD], version);
    assert_non_null(strchr(f.text[TEXT_ZMQ], '.'));
    assert_true(strtol(f.text[TEXT_ZMQ], NULL, 10) >= 4);
    assert_true(strtol(f.text[TEXT_HWLOC], NULL, 10) >= 2);
    assert_true(strlen(f.text[TEXT_KERNEL]) > 0);
    assert_true(f.number[NUMBER_MEMORY_BYTES] >= 1 << 28);
    assert_true(isnan(f.number[NUMBER_CLOCK_S]) && isnan(f.number[NUMBER_RANKS]));
}

UNIT_MAIN("node_facts")
