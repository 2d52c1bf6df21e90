/* SPDX-License-Identifier: Apache-2.0
 *
 * A full-screen terminal for a picture that is drawn anew again and again. One at a time, as it
 * holds the terminal of the process. */
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

/* Takes the terminal: another screen, no echo, no cursor. NULL when stdin or stdout is none. */
struct neap_screen *neap_screen_open(void);
/* Gives it back as it was. */
void neap_screen_close(struct neap_screen *screen);
int neap_screen_rows(const struct neap_screen *screen);
/* Lines of picture, each ended, replace what is there; those that do not fit are left out. */
void neap_screen_show(struct neap_screen *screen, const struct neap_buf *picture);
/* Until usec passed, the window changed, a key came (*ret_key: a character or one of the
 * above), or q, Ctrl-C or a signal to end. */
enum neap_screen_event neap_screen_wait(struct neap_screen *screen, int64_t usec,
					int *ret_key);

#endif
