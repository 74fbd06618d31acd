/* SPDX-License-Identifier: Apache-2.0 */
/* host_address_test.c - which interface --interface names: in lists that the test makes up, and on this host. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/suite/unit.h"
#include "harness/world/host_address.h"

enum { N_MADE = 6, UP = IFF_UP | IFF_RUNNING };

struct made {
    struct sockaddr_in address[N_MADE];
    struct ifaddrs all[N_MADE];
};

/* A loopback, one without an address, one that is down, one with two addresses, and another. */
static const struct {
    const char *name, *address;
    unsigned flags;
} interface[N_MADE] = { { "lo", "127.0.0.1", UP | IFF_LOOPBACK },
                        { "tun0", NULL, UP },
                        { "eth0", "10.1.0.5", IFF_UP },
                        { "eth1", "10.2.0.5", UP },
                        { "eth1", "10.3.0.5", UP },
                        { "ib0", "192.168.7.200", UP } };

static const struct ifaddrs *make(struct made *m)
{
    memset(m, 0, sizeof *m);
    for (int i = 0; i < N_MADE; i++) {
        m->address[i].sin_family = AF_INET;
        if (interface[i].address)
            assert_int_equal(inet_pton(AF_INET, interface[i].address, &m->address[i].sin_addr), 1);
        m->all[i].ifa_name = (char *)(uintptr_t)interface[i].name;
        m->all[i].ifa_flags = interface[i].flags;
        m->all[i].ifa_addr = interface[i].address ? (struct sockaddr *)&m->address[i] : NULL;
        m->all[i].ifa_next = i + 1 < N_MADE ? &m->all[i + 1] : NULL;
    }
    return m->all;
}

UNIT_TEST(a_name_an_address_or_a_network)
{
    static const struct {
        const char *given, *found;
    } call[] = {
        { NULL, "10.2.0.5" },
        { "", "10.2.0.5" },
        { "eth1", "10.2.0.5" },
        { "ib0", "192.168.7.200" },
        { "lo", "127.0.0.1" },
        { "10.3.0.5", "10.3.0.5" },
        { "10.3.0.5/32", "10.3.0.5" },
        { "10.3.0.0/16", "10.3.0.5" },
        { "192.168.7.128/25", "192.168.7.200" },
        { "192.0.0.0/8", "192.168.7.200" },
        { "0.0.0.0/0", "127.0.0.1" },
    };
    struct made m;
    const struct ifaddrs *all = make(&m);

    for (size_t i = 0; i < sizeof call / sizeof *call; i++) {
        char address[HOST_ADDRESS_BYTES] = "";
        assert_int_equal(host_address_of(address, all, call[i].given), RC_OK);
        assert_string_equal(address, call[i].found);
    }
}

UNIT_TEST(others_are_refused_with_a_list)
{
    static const char *const given[] = { "eth0",        "eth",         "eth10",       "tun0",       "10.1.0.5",
                                         "10.3.0.6",    "10.3.0.0/30", "10.3.0.5/33", "10.3.0.5/",  "10.3.0.5/x",
                                         "10.3.0.5/-1", "300.1.1.1",   "10.3.0.5 ",   "10.3.0.5/8 " };
    struct made m;
    const struct ifaddrs *all = make(&m);

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        char address[HOST_ADDRESS_BYTES] = "untouched", start[128];
        assert_int_equal(host_address_of(address, all, given[i]), RC_INVAL);
        assert_string_equal(address, "untouched");
        (void)snprintf(start, sizeof start, "--interface %s: host ", given[i]);
        assert_ptr_equal(strstr(rc_message(), start), rc_message());
        assert_non_null(strstr(rc_message(), "it has lo 127.0.0.1, eth1 10.2.0.5, eth1 10.3.0.5, ib0 192.168.7.200"));
    }
    assert_int_equal(host_address_of((char[HOST_ADDRESS_BYTES]){ "" }, NULL, "eth0"), RC_INVAL);
    assert_non_null(strstr(rc_message(), "it has none"));
    assert_int_equal(host_address_of((char[HOST_ADDRESS_BYTES]){ "" }, NULL, NULL), RC_IO);
}

UNIT_TEST(a_list_ends_where_its_room_does)
{
    struct made m;
    const struct ifaddrs *all = make(&m);
    char list[64];

    host_address_list_of(list, sizeof "lo 127.0.0.1, eth1 10.2.0.5" - 1, all);
    assert_string_equal(list, "lo 127.0.0.1");
    host_address_list_of(list, sizeof "lo 127.0.0.1, eth1 10.2.0.5", all);
    assert_string_equal(list, "lo 127.0.0.1, eth1 10.2.0.5");
    host_address_list_of(list, sizeof list, NULL);
    assert_string_equal(list, "none");
}

UNIT_TEST(this_host_has_a_loopback)
{
    char address[HOST_ADDRESS_BYTES], list[256]; /* as much as an error lists */

    host_address_list(list, sizeof list);
    if (!strstr(list, "lo 127.0.0.1"))
        skip();
    assert_int_equal(host_address(address, "lo"), RC_OK);
    assert_string_equal(address, "127.0.0.1");
    assert_true(host_address_is_loopback(address));
    assert_false(host_address_is_loopback("10.127.0.1"));
    assert_int_equal(host_address(address, "no-such-interface"), RC_INVAL);
    assert_non_null(strstr(rc_message(), list));
}

UNIT_MAIN("host_address")
