/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_folders.h - a data set of JPEG and PNG files, one folder per class, like ImageNet.
 *
 * PATH/train/CLASS/... are for training, PATH/val/CLASS/... for testing (PATH/test/ if there is no val). A split may be
 * named train or training; val, valid or validation; test or testing; upper or lower case. A folder is a split only if
 * it holds folders with images: train/1.png makes "train" a class. Without a training folder, all of PATH/CLASS/... are
 * for training. Images of a class may be in its subfolders (as in Tiny ImageNet). An image is a file named .jpg, .jpeg
 * or .png, upper or lower case. Hidden files and folders (names that begin with a dot) are skipped.
 *
 * Invariants
 *   I1  Classes are numbered in the order of their folders' names, compared byte by byte. Images are numbered by class,
 *       then by path. The order in which a disk lists them has no effect.
 *   -   Each class has an image for training, so that no empty folder shifts the labels of other classes.
 *   -   Unused folders and pictures are listed. Of a folder's hidden pictures the list has the first, and their number.
 *       Other files are counted.
 *   -   A file is opened each time its image is requested.
 */
#ifndef DATA_IMAGE_FOLDERS_H
#define DATA_IMAGE_FOLDERS_H

#include <stdbool.h>

#include "data/dataset.h"
#include "data/picture.h"

/* Does the folder at path hold folders? (dataset_path_is_folders() also checks that it is no other data set.) */
bool image_folders_at(const char *path);
/* Does it hold pictures itself? */
bool image_folders_flat(const char *path);
/* Open a data set with bytes, named "folders". RC_INVAL: PATH and the problem with names and folders. A broken image is
 * detected when it is requested: RC_INVAL "FILE: reason". */
enum rc image_folders_open(struct dataset **out, const char *path, const struct picture_crop *crop) MUST_CHECK;
/* For a data set from image_folders_open(): the name of a class, and the number of files whose names are not those of
 * images. */
const char *image_folders_class(const struct dataset *d, size_t label);
size_t image_folders_left_out_count(const struct dataset *d);
/* Unused folders and pictures: "PATH: why". Valid until the data set is closed. */
size_t image_folders_unused_count(const struct dataset *d);
const char *image_folders_unused(const struct dataset *d, size_t i);

#endif
