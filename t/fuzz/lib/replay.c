/* SPDX-License-Identifier: Apache-2.0
 *
 * Stands in for libFuzzer where the compiler has none: calls the target once with every
 * file that it is given, and with every file of every folder, in the order of their
 * names. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/mem.h"
#include "t/fuzz/lib/fuzz.h"

static size_t runs;

static void run_file(const char *path)
{
	FILE *file = fopen(path, "re");
	uint8_t *data;
	long len;

	if (!file || fseek(file, 0, SEEK_END) < 0) {
		perror(path);
		exit(2);
	}
	len = ftell(file);
	rewind(file);
	/* Exactly its size, so that a sanitizer sees a read past the end. */
	data = malloc((size_t)len);
	if (len && (!data || fread(data, 1, (size_t)len, file) != (size_t)len)) {
		perror(path);
		exit(2);
	}
	(void)fclose(file);
	fprintf(stderr, "%s\n", path); /* the last one is who broke it */
	(void)LLVMFuzzerTestOneInput(data, (size_t)len);
	free(data);
	runs++;
}

static void run_path(const char *path)
{
	struct dirent **entries;
	struct stat st;
	int count;

	if (stat(path, &st) < 0) {
		perror(path);
		exit(2);
	}
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	count = scandir(path, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char full[1024];

		snprintf(full, sizeof(full), "%s/%s", path, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			run_file(full);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("%zu inputs\n", runs);
	return 0;
}
