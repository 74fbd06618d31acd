/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launch_hosts.c - the hosts of a launch, out of -H and --hostfile.
 *
 * A file has a line for each host, as Open MPI takes it: "node1 slots=4 max-slots=8", or "node1:4", or "node1". What
 * stands behind a # is a comment. A host may be named again: the ranks follow the lines, as they do for Slurm's
 * SLURM_HOSTFILE. In -H a host that is named twice has the slots of both.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/file.h"
#include "harness/base/text.h"
#include "harness/world/child.h"
#include "harness/world/host_address.h"
#include "harness/world/tcp/gang.h"
#include "harness/world/tcp/launch.h"

enum { MAX_HOSTS = 4096, HOST_BYTES = sizeof((struct launch_host *)0)->name, WHERE_BYTES = 320 };

/* --- which of them is this one --- */

/* Up to the first dot. */
static size_t n_short(const char *host)
{
    return strcspn(host, ".");
}

/* By "localhost", its name, that with or without its domain, or an address of this host. A name of another kind is not
 * asked for: it may be one that the agent alone knows. */
static bool is_local(const char *host)
{
    char own[HOST_BYTES], address[HOST_ADDRESS_BYTES];
    struct in_addr at;

    child_host_name(own, sizeof own);
    if (gang_is_loopback(host) || strcmp(host, own) == 0)
        return true;
    if (inet_pton(AF_INET, host, &at) != 1 &&
        (n_short(host) != n_short(own) || strncmp(host, own, n_short(own)) != 0 || gang_find_host(&at, host) != RC_OK))
        return false;
    if (!inet_ntop(AF_INET, &at, address, sizeof address))
        return false;
    return host_address_is_loopback(address) || host_address(address, address) == RC_OK;
}

/* --- one host --- */

static enum rc add_host(struct launch_hosts *h, const char *where, const char *name, size_t n_name, uint64_t n_slots,
                        bool is_merged)
{
    int i = 0, b = 0;

    while (i < h->n_hosts && (strlen(h->host[i].name) != n_name || strncmp(h->host[i].name, name, n_name) != 0))
        i++;
    if (i == MAX_HOSTS)
        return rc_raise(RC_INVAL, "%s: more than %d hosts", where, MAX_HOSTS);
    if (n_slots > (uint64_t)(GANG_MAX_MEMBERS - h->n_slots))
        return rc_raise(RC_INVAL, "%s: %.80s: makes more than %d slots", where, name, GANG_MAX_MEMBERS);
    if (i == h->n_hosts) {
        memcpy(h->host[i].name, name, n_name);
        h->host[i].name[n_name] = '\0';
        h->host[i].is_local = is_local(h->host[i].name);
        h->n_hosts++;
    }
    for (b = is_merged ? 0 : h->n_blocks - 1; b >= 0 && b < h->n_blocks && h->block[b].host != i;)
        b = is_merged ? b + 1 : h->n_blocks;
    if (b < 0 || b == h->n_blocks)
        h->block[b = h->n_blocks++] = (struct launch_block){ .host = i };
    h->block[b].n_slots += (int)n_slots;
    h->n_slots += (int)n_slots;
    return RC_OK;
}

static bool is_slots(const char *text, uint64_t *out)
{
    return text_to_plain_u64(text, out) && *out > 0 && *out <= GANG_MAX_MEMBERS;
}

static enum rc raise_slots(const char *where, const char *text)
{
    return rc_raise(RC_INVAL, "%s: %.80s: its slots are no whole number from 1 to %d", where, text, GANG_MAX_MEMBERS);
}

/* "host1" or "host1:2"; n_slots: 0, or what was said apart from it. */
static enum rc read_host(struct launch_hosts *h, const char *where, const char *text, uint64_t n_slots, bool is_merged)
{
    const char *colon = strrchr(text, ':');
    const size_t n_name = colon ? (size_t)(colon - text) : strlen(text);

    if (text_is_ipv6(text))
        return rc_raise(RC_INVAL,
                        "%s: %.80s: is an IPv6 address, and gradmark uses IPv4; give a host name or an IPv4 address, "
                        "such as node1:2",
                        where, text);
    if (strchr(text, '['))
        return rc_raise(
            RC_INVAL,
            "%s: %.80s: is a list of Slurm's; scontrol show hostnames > FILE writes its hosts, for --hostfile "
            "FILE",
            where, text);
    if (n_name == 0 || n_name >= HOST_BYTES || strcspn(text, " \t@/'\"[]=") != strlen(text) || text[0] == '-')
        return rc_raise(RC_INVAL, "%s: %.80s: is no HOST or HOST:SLOTS, such as node1:2", where, text);
    if (colon && n_slots > 0)
        return rc_raise(RC_INVAL, "%s: %.80s: has slots, and slots=%llu, too; leave out one of them", where, text,
                        (unsigned long long)n_slots);
    if (colon && !is_slots(colon + 1, &n_slots))
        return raise_slots(where, text);
    return add_host(h, where, text, n_name, n_slots > 0 ? n_slots : 1, is_merged);
}

/* --- -H and --hostfile --- */

static enum rc read_list(struct launch_hosts *h, const char *list)
{
    char one[HOST_BYTES + 16];
    const char *rest = list;
    enum rc rc = RC_OK;

    while (text_next(&rest, one, sizeof one)) {
        if (one[0] == '\0' && !rest && h->n_hosts > 0) /* "a,b,", as scripts write it */
            break;
        TRY(read_host(h, "-H", one, 0, true));
    }
out:
    return rc;
}

/* What may stand behind a host; false: it is something else. */
static bool take_slots(const char *word, uint64_t *n_slots, uint64_t *n_most, bool *is_well)
{
    static const char *const most[] = { "max-slots=", "max_slots=" };

    if (strncmp(word, "slots=", 6) == 0) {
        *is_well = is_slots(word + 6, n_slots);
        return true;
    }
    for (size_t i = 0; i < sizeof most / sizeof *most; i++)
        if (strncmp(word, most[i], strlen(most[i])) == 0) {
            *is_well = is_slots(word + strlen(most[i]), n_most);
            return true;
        }
    return false;
}

static enum rc read_line(struct launch_hosts *h, const char *where, char *line)
{
    char *rest = line, *host, *word;
    uint64_t n_slots = 0, n_most = 0;
    bool is_well = true;

    line[strcspn(line, "#\r\n")] = '\0';
    host = strtok_r(rest, " \t", &rest);
    if (!host)
        return RC_OK;
    while ((word = strtok_r(NULL, " \t", &rest))) {
        if (!take_slots(word, &n_slots, &n_most, &is_well))
            return rc_raise(RC_INVAL, "%s: %.80s: is neither slots=N nor max-slots=N, as in: node1 slots=4", where,
                            word);
        if (!is_well)
            return raise_slots(where, word);
    }
    if (n_most > 0 && n_slots > n_most)
        return rc_raise(RC_INVAL, "%s: slots=%llu: are more than max-slots=%llu", where, (unsigned long long)n_slots,
                        (unsigned long long)n_most);
    return read_host(h, where, host, n_slots, false);
}

static enum rc read_file(struct launch_hosts *h, const char *path)
{
    char where[WHERE_BYTES], *line = NULL;
    size_t capacity = 0;
    FILE *from = NULL;
    enum rc rc;

    TRY(file_of_option(file_open_text(&from, path, "a file with a host on each line"), "hostfile"));
    for (int n = 1; getline(&line, &capacity, from) >= 0; n++) {
        (void)snprintf(where, sizeof where, "--hostfile %.250s: line %d", path, n);
        TRY(read_line(h, where, line));
    }
    if (ferror(from))
        FAIL(RC_IO, "--hostfile %.250s: cannot be read: %s", path, strerror(errno));
    if (h->n_hosts == 0)
        FAIL(RC_INVAL, "--hostfile %.250s: names no host; write one on each line, as in: node1 slots=4", path);
out:
    free(line);
    if (from)
        (void)fclose(from);
    return rc;
}

enum rc launch_hosts_open(struct launch_hosts *out, const struct launch_opts *opts)
{
    const bool has_file = opts->hostfile && opts->hostfile[0] != '\0';
    struct launch_hosts h = { .host = calloc(MAX_HOSTS, sizeof *h.host),
                              .block = calloc(GANG_MAX_MEMBERS, sizeof *h.block) };
    enum rc rc = RC_OK;

    if (!h.host || !h.block)
        FAIL(RC_NOMEM, "no memory for the hosts of a gang");
    if (has_file && opts->hosts[0] != '\0')
        FAIL(RC_INVAL, "--hostfile %.250s: and -H name hosts; leave out one of them", opts->hostfile);
    if (has_file)
        TRY(read_file(&h, opts->hostfile));
    else if (opts->hosts[0] != '\0')
        TRY(read_list(&h, opts->hosts));
    else
        TRY(add_host(&h, "-np", "localhost", strlen("localhost"), opts->n_ranks > 0 ? opts->n_ranks : 1, true));
    *out = h;
    return RC_OK;
out:
    launch_hosts_close(&h);
    return rc;
}

void launch_hosts_close(struct launch_hosts *h)
{
    free(h->host);
    free(h->block);
    *h = (struct launch_hosts){ .host = NULL };
}
