/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends the test machine: writes its argument to qemu's isa-debug-exit port, whereupon
 * qemu ends with 2 * argument + 1. By ioperm, as cloud kernels have no /dev/port. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/io.h>

#define PORT 0x501

int main(int argc, char **argv)
{
	int status = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1;

	if (ioperm(PORT, 1, 1) < 0) {
		perror("exit: ioperm");
		return 1;
	}
	outb((unsigned char)status, PORT);
	return 1; /* not in a machine with that port */
}
