/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions behind the cleanup attributes of base.h. */
#include "engine/base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void neap_cleanup_free(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

void neap_cleanup_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd); /* nothing to do about a failure while unwinding */
	errno = saved;
}
