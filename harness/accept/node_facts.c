/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_facts.c - facts that a node reports before any measurement: versions, cores, memory, links, its date; see
 * node_facts.h. Sources: proc(5); the kernel's ABI documentation of sysfs-class-net and sysfs-class-infiniband.
 */
#include "harness/accept/node_facts.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <ifaddrs.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "harness/base/file.h"
#include "harness/base/host_memory.h"
#include "harness/net/library_versions.h"
#include "harness/report/manifest.h"
#include "harness/world/cores.h"
#include "harness/world/host_address.h"
#include "harness/world/host_load.h"
#include "harness/world/world.h"

enum { PATH_BYTES = 512, CLOCK_TRIES = 20 };

void node_facts_init(struct node_facts *out)
{
    *out = (struct node_facts){ .text = { "" } };
    for (int i = 0; i < N_NUMBERS; i++)
        out->number[i] = NAN;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue Jun ...", or, of the open one, "NVRM version: NVIDIA
 * UNIX Open Kernel Module for x86_64  580.65.06  Release Build ...": the first word that begins with a digit. */
static void read_gpu_driver(char out[NODE_TEXT_BYTES], const char *root)
{
    char line[PATH_BYTES], *rest = line;

    file_first_line(line, sizeof line, root, "/proc/driver/nvidia/version");
    for (const char *word; (word = strtok_r(rest, " \t", &rest));)
        if (word[0] >= '0' && word[0] <= '9') {
            snprintf(out, NODE_TEXT_BYTES, "%.*s", NODE_TEXT_BYTES - 1, word);
            return;
        }
}

typedef void port_fn(struct node_facts *out, const char *device, const char *port, const char *state, const char *rate);

static void add_port(struct node_facts *out, const char *device, const char *port, const char *state, const char *rate)
{
    char *text = out->text[TEXT_INFINIBAND];
    const size_t n = strlen(text);

    (void)snprintf(text + n, NODE_TEXT_BYTES - n, "%s%s/%s %s, %s", n > 0 ? "; " : "", device, port, state, rate);
}

static void take_faster_port(struct node_facts *out, const char *device, const char *port, const char *state,
                             const char *rate)
{
    const double bits_per_s = 1e9 * strtod(rate, NULL); /* "100 Gb/sec (4X EDR)" */

    (void)device;
    (void)port;
    if (strstr(state, "ACTIVE") && bits_per_s > 0)
        out->number[NUMBER_LINK_BITS_PER_S] = fmax(out->number[NUMBER_LINK_BITS_PER_S], bits_per_s); /* NaN: none */
}

static void read_port(struct node_facts *out, const char *root, const char *device, const char *port, port_fn *take)
{
    char path[PATH_BYTES], state[64], rate[64];

    (void)snprintf(path, sizeof path, "/sys/class/infiniband/%.64s/ports/%.16s/state", device, port);
    file_first_line(state, sizeof state, root, path);
    (void)snprintf(path, sizeof path, "/sys/class/infiniband/%.64s/ports/%.16s/rate", device, port);
    file_first_line(rate, sizeof rate, root, path);
    take(out, device, port, state, rate);
}

static int is_visible(const struct dirent *e)
{
    return e->d_name[0] != '.';
}

static void free_names(struct dirent **name, int n)
{
    for (int i = 0; i < n; i++)
        free(name[i]);
    free(name);
}

/* In the order of names: nodes are compared by the text. */
static void read_infiniband(struct node_facts *out, const char *root, port_fn *take)
{
    struct dirent **device = NULL, **port = NULL;
    char path[PATH_BYTES];

    (void)snprintf(path, sizeof path, "%s/sys/class/infiniband", root);
    const int n_devices = scandir(path, &device, is_visible, alphasort);
    for (int d = 0; d < n_devices; d++) {
        (void)snprintf(path, sizeof path, "%s/sys/class/infiniband/%.64s/ports", root, device[d]->d_name);
        const int n_ports = scandir(path, &port, is_visible, alphasort);
        for (int p = 0; p < n_ports; p++)
            read_port(out, root, device[d]->d_name, port[p]->d_name, take);
        free_names(port, n_ports > 0 ? n_ports : 0);
        port = NULL;
    }
    free_names(device, n_devices > 0 ? n_devices : 0);
}

void node_facts_read(struct node_facts *out, const char *root)
{
    const long n_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    const size_t free_bytes = host_memory_available(root);
    struct library_versions libraries;
    struct utsname os;

    library_versions(&libraries);
    manifest_version(out->text[TEXT_BUILD], NODE_TEXT_BYTES);
    snprintf(out->text[TEXT_MPI], NODE_TEXT_BYTES, "%s", libraries.mpi);
    snprintf(out->text[TEXT_ZMQ], NODE_TEXT_BYTES, "%s", libraries.zmq);
    snprintf(out->text[TEXT_HWLOC], NODE_TEXT_BYTES, "%s", libraries.hwloc);
    if (uname(&os) == 0)
        snprintf(out->text[TEXT_KERNEL], NODE_TEXT_BYTES, "%s", os.release);
    manifest_cpu_model(out->text[TEXT_CPU], NODE_TEXT_BYTES);
    read_gpu_driver(out->text[TEXT_GPU_DRIVER], root);
    read_infiniband(out, root, add_port);
    if (n_pages > 0 && page_bytes > 0)
        out->number[NUMBER_MEMORY_BYTES] = (double)n_pages * (double)page_bytes;
    if (free_bytes != SIZE_MAX)
        out->number[NUMBER_FREE_BYTES] = (double)free_bytes;
}

void node_facts_read_link(struct node_facts *out, const char *root, const char *name)
{
    char path[PATH_BYTES], line[64];

    (void)snprintf(path, sizeof path, "%s/sys/class/net/%.64s/device", root, name);
    if (access(path, F_OK) != 0) /* no hardware behind it */
        return;
    (void)snprintf(path, sizeof path, "/sys/class/net/%.64s/operstate", name);
    file_first_line(out->text[TEXT_LINK_STATE], NODE_TEXT_BYTES, root, path);
    (void)snprintf(path, sizeof path, "/sys/class/net/%.64s/speed", name);
    file_first_line(line, sizeof line, root, path);
    const double mbit_per_s = strtod(line, NULL);
    if (mbit_per_s > 0) /* -1: not known */
        out->number[NUMBER_LINK_BITS_PER_S] = 1e6 * mbit_per_s;
}

void node_facts_read_own_link(struct node_facts *out, const char *interface)
{
    char address[HOST_ADDRESS_BYTES], of[INET_ADDRSTRLEN];
    struct ifaddrs *all = NULL;

    if (host_address(address, interface) != RC_OK) {
        rc_clear();
        return;
    }
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET)
            continue;
        const struct sockaddr_in *inet = (const struct sockaddr_in *)(const void *)i->ifa_addr;
        if (inet_ntop(AF_INET, &inet->sin_addr, of, sizeof of) && strcmp(of, address) == 0) {
            node_facts_read_link(out, "", i->ifa_name);
            break;
        }
    }
    freeifaddrs(all);
}

void node_facts_read_fastest_port(struct node_facts *out, const char *root)
{
    read_infiniband(out, root, take_faster_port);
}

void node_facts_read_clock(struct node_facts *out, struct world *w)
{
    uint64_t best_ns = UINT64_MAX;

    for (int i = 0; i < CLOCK_TRIES; i++) {
        const uint64_t before_ns = world_now_ns(w), date_ns = host_date_ns(), after_ns = world_now_ns(w);
        if (date_ns == 0 || after_ns - before_ns >= best_ns)
            continue;
        best_ns = after_ns - before_ns;
        const uint64_t at_ns = before_ns + best_ns / 2;
        out->number[NUMBER_CLOCK_S] =
            date_ns >= at_ns ? 1e-9 * (double)(date_ns - at_ns) : -1e-9 * (double)(at_ns - date_ns);
    }
}
