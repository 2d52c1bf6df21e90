/* SPDX-License-Identifier: Apache-2.0
 *
 * For the fuzz targets of t/fuzz. A target is one file with LLVMFuzzerTestOneInput; built
 * by clang it is a fuzzer, built as all else it reads files (replay.c). What must hold is
 * a FUZZ_CHECK. */
#ifndef NEAP_T_FUZZ_FUZZ_H
#define NEAP_T_FUZZ_FUZZ_H

#include <jansson.h>

#include "engine/base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Says what did not hold and aborts. */
#define FUZZ_CHECK(holds) ((holds) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #holds))
void fuzz_fail(const char *file, int line, const char *what) __attribute__((noreturn));

/* The input, taken from the front. Everything taken lives until fuzz_in_done, in blocks
 * of exactly its size, so that a read past the end is seen. */
struct fuzz_in {
	const uint8_t *at;
	size_t left;
	void *blocks; /* list of all that was handed out */
};

void fuzz_in_init(struct fuzz_in *in, const uint8_t *data, size_t size);
void fuzz_in_done(struct fuzz_in *in);
/* 0 at the end. */
unsigned fuzz_byte(struct fuzz_in *in);
uint64_t fuzz_word(struct fuzz_in *in);
/* All up to the next `end` byte (which goes, too) or up to the input's end; ret_len may
 * be NULL. A NUL stands behind the text. */
char *fuzz_text_until(struct fuzz_in *in, int end, size_t *ret_len);
/* The next line. */
char *fuzz_line(struct fuzz_in *in);
/* All that is left. */
char *fuzz_rest(struct fuzz_in *in, size_t *ret_len);
/* All that is left as JSON of any type; NULL when it is none. The caller's. */
json_t *fuzz_rest_json(struct fuzz_in *in);

/* Makes a folder below FUZZ_DIR, or in memory (/dev/shm), or in /tmp. It goes when the
 * process ends well; a borrowed name. */
const char *fuzz_folder(void);
/* Makes or replaces a file below a folder. */
void fuzz_file_put(const char *below, const char *name, const void *data, size_t len);

#endif
