/* SPDX-License-Identifier: Apache-2.0 */
/* gang.c - what GRADMARK_GANG_* say; the contract is in gang.h. */
#include "harness/world/tcp/gang.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness/base/terminal.h"
#include "harness/base/text.h"
#include "harness/world/host_address.h"
#include "harness/world/process/tcp_socket.h"

/* --- the socket of a member --- */

enum { N_OTHER_FILES = 16 }; /* what is open, and what one more process or connection needs while it begins */

bool gang_is_loopback(const char *host)
{
    struct in_addr v4;

    return strcmp(host, "localhost") == 0 || (inet_pton(AF_INET, host, &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127);
}

enum rc gang_find_host(struct in_addr *out, const char *host)
{
    const struct addrinfo wanted = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    const int error = getaddrinfo(host, NULL, &wanted, &found);

    if (error != 0)
        return rc_raise(RC_IO, "%s", gai_strerror(error));
    *out = ((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr;
    freeaddrinfo(found);
    return RC_OK;
}

/* -1: errno says why not. */
static int listen_at(struct in_addr address, uint16_t port)
{
    return tcp_socket_listen(
        &(struct sockaddr_in){ .sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port) });
}

/* The address is not of this host: that of a service, or of a gateway that translates it. */
static enum rc listen_behind(int *fd, const char *address, uint16_t port, const char *interface)
{
    struct in_addr at = { .s_addr = htonl(INADDR_ANY) };
    char own[HOST_ADDRESS_BYTES] = "all addresses";
    enum rc rc = RC_OK;

    if (interface && interface[0] != '\0') {
        TRY(host_address(own, interface));
        (void)inet_pton(AF_INET, own, &at);
    }
    *fd = listen_at(at, port);
    if (*fd < 0)
        FAIL(RC_IO, "%s: is no address of this host, and rank 0 cannot listen at port %d of %s: %s", address, port, own,
             strerror(errno));
    terminal_note(stderr, "gradmark: %s: is no address of this host; rank 0 listens at port %d of %s", address, port,
                  own);
out:
    return rc;
}

enum rc gang_listen(int *fd, const char *address, const char *interface)
{
    char host[GANG_ADDRESS_BYTES];
    struct in_addr at = { .s_addr = 0 };
    uint16_t port = 0;
    enum rc rc = RC_OK;

    *fd = -1;
    if (!gang_split_address(address, host, &port))
        return rc_raise(RC_INVAL, "%s: %s", address, gang_address_fault(address));
    if (gang_find_host(&at, host) != RC_OK)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %.200s", address, rc_message());
    if (ntohl(at.s_addr) >> 24 == 127 && !gang_is_loopback(host))
        at.s_addr = htonl(INADDR_ANY);
    *fd = listen_at(at, port);
    if (*fd < 0 && errno == EADDRNOTAVAIL)
        return listen_behind(fd, address, port, interface);
    if (*fd < 0)
        FAIL(RC_IO, "%s: rank 0 cannot listen there: %s", address, strerror(errno));
out:
    return rc;
}

enum rc gang_check_files(uint64_t n_files)
{
    const uint64_t n_needed = n_files + N_OTHER_FILES;
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || n_needed <= limit.rlim_cur)
        return RC_OK;
    const uint64_t most = limit.rlim_cur = limit.rlim_max;
    if (n_needed <= most && setrlimit(RLIMIT_NOFILE, &limit) == 0)
        return RC_OK;
    return rc_raise(RC_UNSUPPORTED, "world tcp: this process needs %llu open files, and its limit is %llu (ulimit -Hn)",
                    (unsigned long long)n_needed, (unsigned long long)most);
}

#define PREFIX "GRADMARK_GANG_"
#define OPEN "open" /* GRADMARK_GANG_KEY of a run without a key */

enum { HEX_BYTES = 2 * GANG_KEY_BYTES };

bool gang_is_told(void)
{
    return getenv(PREFIX "RANK") != NULL;
}

void gang_free(struct gang *g)
{
    free(g->member);
    free(g->text);
    sodium_memzero(g->key, sizeof g->key);
    *g = (struct gang){ .listening_fd = -1 };
}

void gang_member_text(const struct gang *g, int rank, char *out, size_t n_bytes)
{
    const struct gang_member *m = &g->member[rank];

    (void)snprintf(out, n_bytes, "%s %d at %s", m->job, m->task, m->address);
}

void gang_early_loss_text(const struct gang *g, int rank, const char *why, char *out)
{
    char name[GANG_ADDRESS_BYTES + 32];

    gang_member_text(g, rank, name, sizeof name);
    (void)snprintf(out, RC_MESSAGE_BYTES, "rank %d (%s): %.200s, while the run began", rank, name, why);
}

bool gang_split_address(const char *address, char *host, uint16_t *port)
{
    const char *colon = strrchr(address, ':');
    uint64_t number;

    if (text_is_ipv6(address) || !colon || colon == address || (size_t)(colon - address) >= GANG_ADDRESS_BYTES ||
        !text_to_plain_u64(colon + 1, &number) || number == 0 || number > UINT16_MAX)
        return false;
    memcpy(host, address, (size_t)(colon - address));
    host[colon - address] = '\0';
    *port = (uint16_t)number;
    return strpbrk(host, " \t,/@[]") == NULL;
}

const char *gang_address_fault(const char *address)
{
    if (text_is_ipv6(address))
        return "is an IPv6 address, and gradmark uses IPv4; give a host name or an IPv4 address, such as node1:2222";
    return "is no HOST:PORT, such as node1:2222";
}

static enum rc wrong(const char *name, const char *value, const char *right)
{
    return rc_raise(RC_INVAL, PREFIX "%s=%.80s: %s", name, value, right);
}

/* --- members --- */

int gang_count_items(const char *text)
{
    int n = text[0] != '\0';

    for (; *text; text++)
        n += *text == ',';
    return n;
}

enum rc gang_read_members(struct gang *g, const char *text)
{
    char one[GANG_JOB_BYTES + GANG_ADDRESS_BYTES];
    const int n = gang_count_items(text);
    const char *rest = text;
    enum rc rc = RC_OK;

    if (n < 1 || n > GANG_MAX_MEMBERS)
        return wrong("MEMBERS", text, "name each member as JOB@ADDRESS, with commas between");
    g->text = strdup(text);
    g->member = calloc((size_t)n, sizeof *g->member);
    if (!g->member || !g->text)
        return rc_raise(RC_NOMEM, "no memory for a run of %d processes", n);
    while (g->n_ranks < n && text_next(&rest, one, sizeof one)) {
        struct gang_member *m = &g->member[g->n_ranks++];
        const char *at = strchr(one, '@');
        if (!at || at == one || (size_t)(at - one) >= sizeof m->job)
            FAIL(RC_INVAL, PREFIX "MEMBERS: %.60s: is no JOB@ADDRESS, such as worker@10.0.0.1:2222", one);
        memcpy(m->job, one, (size_t)(at - one));
        (void)snprintf(m->address, sizeof m->address, "%s", at + 1);
        for (const struct gang_member *before = g->member; before < m; before++)
            m->task += strcmp(before->job, m->job) == 0;
    }
out:
    return rc;
}

static bool read_number(const char *name, uint64_t most, int *out)
{
    const char *text = getenv(name);
    uint64_t value;

    if (!text || !text_to_plain_u64(text, &value) || value > most)
        return false;
    *out = (int)value;
    return true;
}

/* "0/2" */
static bool read_here(struct gang *g, const char *text)
{
    const char *slash = strchr(text, '/');
    char before[16];
    uint64_t place, number;

    if (!slash || (size_t)(slash - text) >= sizeof before)
        return false;
    (void)snprintf(before, sizeof before, "%.*s", (int)(slash - text), text);
    if (!text_to_plain_u64(before, &place) || !text_to_plain_u64(slash + 1, &number) || place >= number ||
        number > GANG_MAX_MEMBERS)
        return false;
    g->host_rank = (int)place;
    g->n_host_ranks = (int)number;
    return true;
}

bool gang_peek(struct gang *out)
{
    const char *members = getenv(PREFIX "MEMBERS"), *here = getenv(PREFIX "HERE");

    *out = (struct gang){ .listening_fd = -1 };
    if (!members || !read_number(PREFIX "RANK", GANG_MAX_MEMBERS, &out->rank))
        return false;
    out->n_ranks = gang_count_items(members);
    out->is_by_hand = getenv(PREFIX "BY_HAND") != NULL;
    out->has_join_file = getenv(PREFIX "JOIN_FILE") != NULL;
    out->joins = getenv(PREFIX "JOINS") != NULL;
    const bool is_well = (!here || read_here(out, here)) && out->rank < out->n_ranks;
    if (out->joins)
        out->rank = out->n_ranks;
    return is_well;
}

/* --- the key --- */

/* 64 digits, and white space behind them alone. */
static bool take_hex(struct gang *g, const char *text)
{
    const size_t n_digits = strspn(text, "0123456789abcdefABCDEF");
    size_t n_bytes = 0;

    if (n_digits != HEX_BYTES || text[n_digits + strspn(text + n_digits, "\r\n")] != '\0')
        return false;
    return sodium_hex2bin(g->key, sizeof g->key, text, HEX_BYTES, NULL, &n_bytes, NULL) == 0 &&
           n_bytes == sizeof g->key;
}

/* A line of at most n_bytes - 1, without its end. Byte by byte: what follows is left for others. */
static ssize_t read_line(int fd, char *out, size_t n_bytes)
{
    size_t n = 0;

    for (; n < n_bytes - 1; n++) {
        const ssize_t n_read = read(fd, out + n, 1);
        if (n_read < 0 && errno == EINTR) {
            n--;
            continue;
        }
        if (n_read < 0)
            return -1;
        if (n_read == 0 || out[n] == '\n')
            break;
    }
    out[n] = '\0';
    return (ssize_t)n;
}

static enum rc read_key(struct gang *g)
{
    const char *text = getenv(PREFIX "KEY");
    char line[HEX_BYTES + 2];
    enum rc rc = RC_OK;

    if (!text)
        return rc_raise(RC_INVAL,
                        PREFIX "KEY: is not set; 64 hexadecimal digits, @FILE of gradmark keys, or " OPEN ", which "
                               "lets everybody in");
    if (strcmp(text, OPEN) == 0)
        return RC_OK;
    g->has_key = true;
    if (text[0] == '@')
        return gang_read_key_file(g->key, text + 1);
    g->has_launcher = strcmp(text, "-") == 0;
    if (!g->has_launcher)
        return take_hex(g, text) ? RC_OK : rc_raise(RC_INVAL, PREFIX "KEY: is no key of 64 hexadecimal digits");
    if (read_line(STDIN_FILENO, line, sizeof line) < 0)
        FAIL(RC_IO, PREFIX "KEY=-: standard input cannot be read: %s", strerror(errno));
    if (!take_hex(g, line))
        FAIL(RC_INVAL, PREFIX "KEY=-: the first line of standard input is no key of 64 hexadecimal digits");
out:
    sodium_memzero(line, sizeof line);
    return rc;
}

void gang_forget_key(void)
{
    const char *text = getenv(PREFIX "KEY");

    if (text && text[0] != '@' && strcmp(text, OPEN) != 0)
        (void)unsetenv(PREFIX "KEY");
}

enum rc gang_read(struct gang *out)
{
    const char *members = getenv(PREFIX "MEMBERS"), *here = getenv(PREFIX "HERE"), *root = getenv(PREFIX "ROOT");
    const char *start = getenv(PREFIX "START_S"), *listens = getenv(PREFIX "LISTENS");
    char host[GANG_ADDRESS_BYTES];
    uint16_t port;
    enum rc rc;

    *out = (struct gang){ .listening_fd = -1, .start_s = GANG_START_S, .n_host_ranks = 0 };
    if (!members || !root)
        FAIL(RC_INVAL, "world tcp: " PREFIX "%s is not set: start with gradmark launch, --worker-hosts or TF_CONFIG",
             members ? "ROOT" : "MEMBERS");
    TRY(gang_read_members(out, members));
    if (!read_number(PREFIX "RANK", (uint64_t)out->n_ranks - 1, &out->rank))
        TRY(wrong("RANK", getenv(PREFIX "RANK") ? getenv(PREFIX "RANK") : "", "is no rank of the run"));
    if (here && !read_here(out, here))
        TRY(wrong("HERE", here, "is no PLACE/NUMBER, such as 0/2"));
    if (!gang_split_address(root, host, &port))
        TRY(wrong("ROOT", root, gang_address_fault(root)));
    (void)snprintf(out->root, sizeof out->root, "%s", root);
    if (listens && !read_number(PREFIX "LISTENS", 1 << 20, &out->listening_fd))
        TRY(wrong("LISTENS", listens, "is no open file"));
    if (start && (!text_to_f64(start, &out->start_s) || out->start_s <= 0))
        TRY(wrong("START_S", start, "is no number of seconds above 0"));
    TRY(read_key(out));
    out->joins = getenv(PREFIX "JOINS") != NULL;
    if (out->joins)
        out->rank = out->n_ranks;
out:
    if (rc != RC_OK)
        gang_free(out);
    return rc;
}

/* --- to tell --- */

static enum rc set(const char *name, const char *value)
{
    return setenv(name, value, 1) == 0 ? RC_OK : rc_raise(RC_NOMEM, "no memory for %s", name);
}

void gang_own_text(char *out, size_t n_bytes)
{
    const char *members = getenv(PREFIX "MEMBERS");
    struct gang g = { .listening_fd = -1 };

    (void)snprintf(out, n_bytes, "this process");
    if (members && !getenv(PREFIX "JOINS") && gang_read_members(&g, members) == RC_OK &&
        read_number(PREFIX "RANK", (uint64_t)g.n_ranks - 1, &g.rank))
        gang_member_text(&g, g.rank, out, n_bytes);
    gang_free(&g);
}

/* "worker@a:1,ps@b:2"; the caller frees it. NULL: no memory. */
static char *members_text(const struct gang *g)
{
    const size_t n_each = GANG_JOB_BYTES + GANG_ADDRESS_BYTES + 2;
    char *text = calloc((size_t)g->n_ranks, n_each);
    size_t n = 0;

    for (int r = 0; text && r < g->n_ranks; r++)
        n += (size_t)sprintf(text + n, "%s%s@%s", r > 0 ? "," : "", g->member[r].job, g->member[r].address);
    return text;
}

enum rc gang_export(const struct gang *g, const char *key)
{
    char text[64], *members = members_text(g);
    enum rc rc;

    if (!members)
        FAIL(RC_NOMEM, "no memory for a run of %d processes", g->n_ranks);
    TRY(set(PREFIX "MEMBERS", members));
    TRY(set(PREFIX "ROOT", g->root));
    TRY(set(PREFIX "BY_HAND", "1"));
    if (g->joins)
        TRY(set(PREFIX "JOINS", "1"));
    (void)snprintf(text, sizeof text, "%d", g->rank);
    TRY(set(PREFIX "RANK", text));
    (void)snprintf(text, sizeof text, "%d/%d", g->host_rank, g->n_host_ranks);
    TRY(set(PREFIX "HERE", text));
    (void)snprintf(text, sizeof text, "%.6g", g->start_s);
    TRY(set(PREFIX "START_S", text));
    TRY(set(PREFIX "KEY", key));
out:
    free(members);
    return rc;
}
