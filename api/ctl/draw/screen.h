/* SPDX-License-Identifier: Apache-2.0
 *
 * A full-screen terminal for a picture that is redrawn repeatedly. One at a time, because
 * it owns the process's terminal. */
#ifndef NEAP_API_CTL_DRAW_SCREEN_H
#define NEAP_API_CTL_DRAW_SCREEN_H

#include "engine/base/buf.h"

enum neap_screen_event {
	NEAP_SCREEN_TIME,
	NEAP_SCREEN_RESIZED,
	NEAP_SCREEN_KEY,
	NEAP_SCREEN_END
};

/* Keys beside characters. */
enum {
	NEAP_KEY_UP = 256,
	NEAP_KEY_DOWN,
	NEAP_KEY_PAGE_UP,
	NEAP_KEY_PAGE_DOWN,
	NEAP_KEY_HOME
};

struct neap_screen;

/* Takes over the terminal: alternate screen, no echo, no cursor. NULL when stdin or
 * stdout is not a terminal. */
struct neap_screen *neap_screen_open(void);
/* Restores the terminal. */
void neap_screen_close(struct neap_screen *screen);
int neap_screen_rows(const struct neap_screen *screen);
/* Replaces the screen's content by the lines of picture; lines that do not fit are
 * dropped. */
void neap_screen_show(struct neap_screen *screen, const struct neap_buf *picture);
/* Waits until usec passed, the window was resized, a key was pressed (*ret_key: a
 * character or one of the above), or the user quit with q, Ctrl-C or a signal. */
enum neap_screen_event neap_screen_wait(struct neap_screen *screen, int64_t usec,
					int *ret_key);

#endif
