/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_folders.h - a data set of JPEG and PNG files, one folder for each class: as ImageNet comes.
 *
 * PATH/train/CLASS/... are for training, PATH/val/CLASS/... for testing (PATH/test/ where there is no val). A split may
 * be named train or training; val, valid or validation; test or testing; in any case of letters. It is one only if it
 * holds folders with images: train/1.png makes "train" a class. Without a folder for training, PATH/CLASS/... are all
 * for training. Images of a class may be in folders of it (as Tiny ImageNet has them). An image is a file named .jpg,
 * .jpeg or .png, in any case of letters. Hidden files and folders (their names begin with a dot) are passed over.
 *
 * Invariants
 *   I1  Classes are numbered in the order of their folders' names, compared byte by byte; images are numbered by
 *       class, then by path: never in the order in which a disk lists them.
 *   I2  Each class has an image for training, so that no empty folder moves the labels of others.
 *   I3  Folders and pictures that are not used are listed, of the hidden pictures in a folder the first with their
 *       number; other files are counted.
 *   I4  Files are opened when their image is asked for, each time anew.
 */
#ifndef DATA_IMAGE_FOLDERS_H
#define DATA_IMAGE_FOLDERS_H

#include <stdbool.h>

#include "data/dataset.h"
#include "data/picture_crop.h"

/* Is path a folder that holds folders? (dataset_path_is_folders() says whether it is no other data set.) */
bool image_folders_at(const char *path);
/* A data set with bytes, named "folders". RC_INVAL: PATH and what is wrong with names and folders; an image that is
 * broken is found when it is asked for: RC_INVAL "FILE: reason". */
enum rc image_folders_open(struct dataset **out, const char *path, const struct picture_crop *crop) MUST_CHECK;
/* Of a data set that image_folders_open() opened: the name of a class, and how many files are no images by name. */
const char *image_folders_class(const struct dataset *d, size_t label);
size_t image_folders_left_out_count(const struct dataset *d);
/* Folders and pictures that are not used: "PATH: why". Lent until the data set is closed. */
size_t image_folders_unused_count(const struct dataset *d);
const char *image_folders_unused(const struct dataset *d, size_t i);

#endif
