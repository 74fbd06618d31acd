/* SPDX-License-Identifier: Apache-2.0 */
/* file_data.c - see file_data.h. */
#include "harness/train/file_data.h"

#include <stdio.h>

static enum rc open_path(struct dataset **out, const char *path)
{
    char why[RC_MESSAGE_BYTES];
    const enum rc rc = dataset_open_path(out, path);

    if (rc == RC_OK)
        return RC_OK;
    snprintf(why, sizeof why, "%s", rc_message());
    return rc_raise(rc, "--data: %.480s", why);
}

enum rc file_data_open(struct dataset **out, const char *path, uint64_t *image_size, uint64_t *classes)
{
    const struct dataset *d;
    enum rc rc;

    TRY(open_path(out, path));
    d = *out;
    if (d->C == 0)
        FAIL(RC_INVAL, "--data %s: holds no images", path);
    if (d->H != d->W)
        FAIL(RC_INVAL, "--data %s: images of %d x %d; networks here take squares", path, d->H, d->W);
    if (*image_size == 0)
        *image_size = (uint64_t)d->H;
    if (*classes == 0)
        *classes = d->n_classes;
out:
    return rc;
}

enum rc file_data_check(const struct dataset *d, const char *path, const struct network *n)
{
    if (d->C != n->C_in)
        return rc_raise(RC_INVAL,
                        "--data %s: images of %d channel%s, but model %s takes %d; choose another --model, or "
                        "pack pictures with gradmark pack --channels %d",
                        path, d->C, d->C == 1 ? "" : "s", n->name, n->C_in, n->C_in);
    if (d->H != n->opts.image_size)
        return rc_raise(RC_INVAL,
                        "--image-size %d: images of %s are %d x %d; leave out --image-size, pack pictures again with "
                        "gradmark pack --image-size %d, or use --data synthetic",
                        n->opts.image_size, path, d->H, d->W, n->opts.image_size);
    if (d->n_classes > (size_t)n->opts.n_classes)
        return rc_raise(RC_INVAL, "--classes %d: %s has labels up to %zu", n->opts.n_classes, path, d->n_classes - 1);
    return RC_OK;
}
