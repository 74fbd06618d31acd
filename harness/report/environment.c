/* SPDX-License-Identifier: Apache-2.0 */
/* environment.c - which variables are recorded, and what of them. */
#include "harness/report/environment.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 96 };

struct kept { /* sorted by name */
    const char *variable[ENVIRONMENT_MAX_VARIABLES];
    size_t n;
    size_t n_left_out;
};

/* All variables that begin so. */
static const char *const families[] = {
    "OMP_",      "GOMP_",     "KMP_",                                                              /* OpenMP */
    "OPENBLAS_", "GOTO_",     "BLIS_",     "MKL_",   "FLEXIBLAS", "DNNL_",      "ONEDNN_",         /* arithmetic */
    "OMPI_MCA_", "PRTE_MCA_", "PMIX_MCA_", "I_MPI_", "MPICH_",    "MPIR_CVAR_", "MV2_",    "MVP_", /* MPI */
    "UCX_",      "UCC_",      "FI_",       "PSM2_",  "PSM3_",     "HCOLL_",     "NCCL_", /* what carries its messages */
    "CUBLAS_",   "HWLOC_",    "MALLOC_",
};

static const char *const singles[] = {
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_AUTO_BOOST",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_CLIENT_PRIORITY",
    "CUDA_SCALE_LAUNCH_QUEUES",
    "GLIBC_TUNABLES",
    "GRADMARK_NCCL_LIBRARY",
    "HYDRA_BINDING",
    "HYDRA_IFACE",
    "HYDRA_MAPPING",
    "HYDRA_MEMBIND",
    "HYDRA_TOPOLIB",
    "LD_PRELOAD",
    "NVIDIA_TF32_OVERRIDE",
    "SLURM_CPU_BIND",
    "SLURM_CPU_FREQ_REQ",
    "SLURM_CPUS_PER_TASK",
    "SLURM_DISTRIBUTION",
    "SLURM_HINT",
    "SLURM_MEM_BIND",
    "SLURM_MPI_TYPE",
    "SLURM_THREADS_PER_CORE",
};

/* Of those families: what a launcher tells its processes about itself. */
static const char *const launchers_own[] = {
    "OMPI_MCA_orte_",
    "OMPI_MCA_prte_",
    "OMPI_MCA_ess",
    "OMPI_MCA_plm",
    "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir",
    "I_MPI_HYDRA_",
    "OMPI_MCA_shmem_RUNTIME",
    "PRTE_MCA_prte_",
    "PRTE_MCA_ess",
    "PRTE_MCA_plm",
    "PRTE_MCA_pmix",
    "PMIX_MCA_mca_base_component_show_",
    "PMIX_MCA_ptl_",
    "PMIX_MCA_psec",
};

static const char *const secret_words[] = { "KEY",  "TOKEN",  "SECRET", "PASS",        "CRED",
                                            "AUTH", "COOKIE", "UUID",   "PRECONDITION" };

#define N_OF(list) (sizeof(list) / sizeof *(list))

static size_t name_bytes(const char *variable)
{
    return strcspn(variable, "=");
}

static bool begins_with_one(const char *variable, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(variable, list[i], strlen(list[i])) == 0)
            return true;
    return false;
}

static bool is_single(const char *variable)
{
    const size_t n_bytes = name_bytes(variable);

    for (size_t i = 0; i < N_OF(singles); i++)
        if (strlen(singles[i]) == n_bytes && strncmp(variable, singles[i], n_bytes) == 0)
            return true;
    return false;
}

/* Letters, digits and _, as a shell gives names, and not too long for a key. */
static bool has_plain_name(const char *variable)
{
    const size_t n_bytes = name_bytes(variable);

    for (size_t i = 0; i < n_bytes; i++)
        if (!isalnum((unsigned char)variable[i]) && variable[i] != '_')
            return false;
    return n_bytes < NAME_BYTES && variable[n_bytes] == '=';
}

/* report.N1 */
static bool is_recorded(const char *variable)
{
    if (!has_plain_name(variable) || begins_with_one(variable, launchers_own, N_OF(launchers_own)))
        return false;
    return is_single(variable) || begins_with_one(variable, families, N_OF(families));
}

/* report.N2 */
static bool may_be_secret(const char *name, const char *value)
{
    char upper[NAME_BYTES];
    size_t i = 0;
    const char *address = strstr(value, "://");

    for (; name[i]; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
    upper[i] = '\0';
    for (i = 0; i < N_OF(secret_words); i++)
        if (strstr(upper, secret_words[i]))
            return true;
    return address && strchr(address, '@');
}

static int compare_names(const char *a, const char *b)
{
    const size_t n_a = name_bytes(a), n_b = name_bytes(b);
    const int order = memcmp(a, b, n_a < n_b ? n_a : n_b);

    return order != 0 ? order : (n_a > n_b) - (n_a < n_b);
}

/* report.N3, N4. Of two of the same name the first counts, as for getenv(). */
static void keep(struct kept *k, const char *variable)
{
    size_t at = 0;

    while (at < k->n && compare_names(k->variable[at], variable) < 0)
        at++;
    if (at < k->n && compare_names(k->variable[at], variable) == 0)
        return;
    if (k->n == ENVIRONMENT_MAX_VARIABLES) {
        k->n_left_out++;
        if (at == k->n)
            return;
        k->n--; /* the last makes room */
    }
    memmove(&k->variable[at + 1], &k->variable[at], (k->n - at) * sizeof k->variable[0]);
    k->variable[at] = variable;
    k->n++;
}

static void record_variable(struct record *r, const char *variable)
{
    static const char mark[] = "...";
    const size_t n_name = name_bytes(variable);
    const char *value = variable + n_name + 1;
    size_t n_bytes = strlen(value);
    char name[NAME_BYTES], text[ENVIRONMENT_VALUE_BYTES + sizeof mark];

    memcpy(name, variable, n_name);
    name[n_name] = '\0';
    if (may_be_secret(name, value)) {
        record_null(r, name);
        return;
    }
    const bool is_cut = n_bytes > ENVIRONMENT_VALUE_BYTES;
    if (is_cut)
        n_bytes = ENVIRONMENT_VALUE_BYTES;
    while (is_cut && n_bytes > 0 && ((unsigned char)value[n_bytes] & 0xc0) == 0x80) /* inside a character of UTF-8 */
        n_bytes--;
    snprintf(text, sizeof text, "%.*s%s", (int)n_bytes, value, is_cut ? mark : "");
    record_text(r, name, text);
}

void environment_record(struct record *r, char *const *variables)
{
    struct record *child = record_open(NULL);
    struct kept kept = { .n = 0 };

    for (char *const *v = variables; v && *v; v++)
        if (is_recorded(*v))
            keep(&kept, *v);
    for (size_t i = 0; i < kept.n; i++)
        record_variable(child, kept.variable[i]);
    record_child(r, "environment", &child);
    record_u64(r, "environment_left_out_count", kept.n_left_out);
}
