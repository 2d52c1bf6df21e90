/* SPDX-License-Identifier: Apache-2.0
 *
 * The terminal of `neapctl top`. Signals arrive through a signalfd, so that no handler
 * has to restore the terminal. */
#include "api/ctl/draw/screen.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"

struct neap_screen {
	struct termios before;
	sigset_t mask_before;
	int signals;
};

static void out(const char *text)
{
	(void)fputs(text, stdout);
	(void)fflush(stdout);
}

struct neap_screen *neap_screen_open(void)
{
	/* Stopped, the shell would get the terminal in our state: so it cannot be stopped
	 * by key. */
	static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
	struct neap_screen *screen;
	struct termios raw;
	sigset_t mask;
	size_t i;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return NULL;
	screen = neap_alloc(sizeof(*screen));
	if (screen == NULL || tcgetattr(STDIN_FILENO, &screen->before) < 0) {
		free(screen);
		return NULL;
	}
	(void)sigemptyset(&mask);
	for (i = 0; i < NEAP_ARRAY_LEN(taken); i++)
		(void)sigaddset(&mask, taken[i]);
	screen->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (screen->signals < 0 ||
	    sigprocmask(SIG_BLOCK, &mask, &screen->mask_before) < 0) {
		free(screen);
		return NULL;
	}
	raw = screen->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	out("\033[?1049h\033[?25l");
	return screen;
}

void neap_screen_close(struct neap_screen *screen)
{
	if (screen == NULL)
		return;
	out("\033[?25h\033[?1049l");
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
	(void)sigprocmask(SIG_SETMASK, &screen->mask_before, NULL);
	(void)close(screen->signals);
	free(screen);
}

int neap_screen_rows(const struct neap_screen *screen)
{
	struct winsize size;

	(void)screen;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return 24;
	return size.ws_row;
}

void neap_screen_show(struct neap_screen *screen, const struct neap_buf *picture)
{
	int left = neap_screen_rows(screen);
	const char *line = picture->data, *end;

	(void)fputs("\033[H", stdout);
	while (*line && left-- > 0) {
		end = strchrnul(line, '\n');
		(void)fwrite(line, 1, (size_t)(end - line), stdout);
		/* No line end after the last one: the screen would move up. */
		(void)fputs(left > 0 && *end ? "\033[K\n" : "\033[K", stdout);
		line = *end ? end + 1 : end;
	}
	out("\033[J");
}

static enum neap_screen_event signal_read(struct neap_screen *screen)
{
	struct signalfd_siginfo info;
	enum neap_screen_event event = NEAP_SCREEN_TIME;

	while (read(screen->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			event = NEAP_SCREEN_RESIZED;
		else if (info.ssi_signo != SIGTSTP)
			return NEAP_SCREEN_END;
	}
	return event;
}

/* A terminal sends an arrow as a sequence of bytes. Returns 0 for an unknown sequence. */
static int key_parse(const char *text, size_t len)
{
	static const struct {
		const char *text;
		int key;
	} rows[] = {
		{"[A", NEAP_KEY_UP},       {"OA", NEAP_KEY_UP},
		{"[B", NEAP_KEY_DOWN},     {"OB", NEAP_KEY_DOWN},
		{"[5~", NEAP_KEY_PAGE_UP}, {"[6~", NEAP_KEY_PAGE_DOWN},
		{"[H", NEAP_KEY_HOME},     {"OH", NEAP_KEY_HOME},
		{"[1~", NEAP_KEY_HOME},
	};
	size_t i;

	if (*text != '\033')
		return (unsigned char)*text;
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (len >= strlen(rows[i].text) + 1 &&
		    strncmp(text + 1, rows[i].text, strlen(rows[i].text)) == 0)
			return rows[i].key;
	}
	return 0;
}

enum neap_screen_event neap_screen_wait(struct neap_screen *screen, int64_t usec,
					int *ret_key)
{
	int64_t end = neap_clock_usec(CLOCK_MONOTONIC) + usec, left;
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
			       {.fd = screen->signals, .events = POLLIN}};
	enum neap_screen_event event;
	char text[8];
	ssize_t len;

	while ((left = end - neap_clock_usec(CLOCK_MONOTONIC)) > 0) {
		if (poll(fds, NEAP_ARRAY_LEN(fds), (int)((left + 999) / 1000)) <= 0)
			continue;
		event = signal_read(screen);
		if (event != NEAP_SCREEN_TIME)
			return event;
		if (fds[0].revents == 0)
			continue;
		/* 0 bytes: the terminal is gone. A sequence comes at once, and a
		 * character alone. */
		len = read(STDIN_FILENO, text, 1);
		if (len == 1 && *text == '\033')
			len += read(STDIN_FILENO, text + 1, 1) == 1 &&
					       read(STDIN_FILENO, text + 2, 1) == 1
				       ? 2
				       : 0;
		if (len == 3 && text[2] >= '1' && text[2] <= '9')
			len += read(STDIN_FILENO, text + 3, 1) == 1;
		if (len < 1 || *text == 'q' || *text == 'Q' || *text == 3)
			return NEAP_SCREEN_END;
		*ret_key = key_parse(text, (size_t)len);
		return NEAP_SCREEN_KEY;
	}
	return NEAP_SCREEN_TIME;
}
