# neap: a Lua-scriptable policy engine that lets latency-critical services and batch jobs share machines.
#
#   make run        set up what is missing, build, start neapd on this machine
#   make test       set up, build, run every test (TAP); the last line counts them
#   make demo       a latency-critical service beside batch jobs, with figures, in about a minute
#   make all        build neapd and neapctl into build/
#   make t/cpuset   one test alone (t/test_cpuset.c or t/sh/cpuset.t); CASE=name picks one case
#   make lint       include directions, file length, banned functions, clang-tidy, cppcheck, luacheck
#   make bench      the figures of t/bench as ratios
#   make fmt        lay out C sources by .clang-format
#   make deps       install the Debian packages that are missing
#   make install    DESTDIR= PREFIX=/usr/local
#   make clean      remove what was built
#
#   V=1 shows commands; O=DIR builds elsewhere; SAN=address,undefined or SAN=thread builds with
#   sanitizers into a folder of its own; WERROR=1 makes warnings errors.

SAN     ?=
comma   := ,
O       ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
V       ?= 0
PREFIX  ?= /usr/local
VERSION := 0.1.0

CC      ?= gcc
PKGS    := libevent libevent_openssl jansson hwloc libcgroup lua5.4 yaml-0.1 openssl libcurl
PKG_OK  := $(shell pkg-config --exists $(PKGS) cmocka 2>/dev/null && echo yes)
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wvla -Wwrite-strings -Wno-missing-field-initializers -Wno-format-truncation $(if $(WERROR),-Werror)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. $(WARN) $(CFLAGS) -fno-strict-aliasing -fstack-protector-strong \
           -DNEAP_VERSION='"$(VERSION)"' -DNEAP_SHARE_DIR='"$(PREFIX)/share/neap"' \
           $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
           $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
ALL_LDFLAGS = $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,relro,-z,now
LIBS    = $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm -lpthread

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = @printf '  %-6s %s\n' $(1) $(patsubst $(O)/%,%,$(2))
endif

MAINS   := api/neapd.c api/neapctl.c
LIB_SRC := $(filter-out $(MAINS),$(wildcard engine/*/*.c hw/*.c hw/*/*.c lua/*.c api/*.c api/*/*.c))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o)
PROGS   := $(patsubst api/%.c,$(O)/%,$(wildcard $(MAINS)))
T_SRC   := $(wildcard t/test_*.c)
T_BIN   := $(T_SRC:%.c=$(O)/%)
T_SH    := $(wildcard t/sh/*.t)
T_HELP  := $(patsubst t/%.c,$(O)/t/%.o,$(wildcard t/lib/*.c))
VEC_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard t/vectors/*.c))
TOOLS   := $(patsubst t/demo/%.c,$(O)/t/demo/%,$(wildcard t/demo/*.c)) \
           $(patsubst t/bench/%.c,$(O)/t/bench/%,$(wildcard t/bench/*.c))
VECTORS := $(if $(VEC_OBJ),$(O)/t/vectors)

.PHONY: all run demo test lint bench fmt install clean help deps need-deps FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: need-deps
	@$(MAKE) --no-print-directory $(PROGS) O=$(O)

help:
	@sed -n 's/^#//; 2,/^$$/p' Makefile | sed '/^$$/q' | sed 's/^ //'

need-deps:
	@$(if $(PKG_OK),:,$(MAKE) --no-print-directory deps)

deps:
	@t/deps.sh

# Flags: a changed compiler or flag rebuilds everything, an unchanged one nothing.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(subst ','\'',$(ALL_CFLAGS)) $(ALL_LDFLAGS) $(LIBS)' > $@.new
	@cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(O)/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libneap.a: $(LIB_OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^

$(PROGS): $(O)/%: $(O)/api/%.o $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(O)/libneap.a $(LIBS)

$(T_BIN): $(O)/%: $(O)/%.o $(T_HELP) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(T_HELP) $(O)/libneap.a $(LIBS) -lcmocka

$(O)/t/vectors: $(VEC_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(VEC_OBJ) $(O)/libneap.a $(LIBS)

$(TOOLS): $(O)/%: $(O)/%.o $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(O)/libneap.a $(LIBS)

-include $(shell find $(O) -name '*.d' 2>/dev/null)

# One test alone.
t/%: need-deps FORCE
	@if [ -f t/test_$*.c ]; then \
	  $(MAKE) --no-print-directory $(O)/t/test_$* O=$(O) && \
	  CASE='$(CASE)' CMOCKA_MESSAGE_OUTPUT=TAP $(O)/t/test_$*; \
	elif [ -f t/sh/$*.t ]; then \
	  $(MAKE) --no-print-directory test-programs O=$(O) && BUILD=$(O) CASE='$(CASE)' t/sh/$*.t; \
	else echo "no test '$*': there is $(patsubst t/test_%.c,%,$(T_SRC)) $(patsubst t/sh/%.t,%,$(T_SH))"; exit 2; fi

.PHONY: test-programs
test-programs: $(PROGS) $(T_BIN) $(VECTORS) $(TOOLS)

test: need-deps
	@$(MAKE) --no-print-directory test-programs O=$(O)
	@BUILD=$(O) t/run-tests.sh

run: all
	@t/run.sh $(O)

demo: all
	@$(MAKE) --no-print-directory test-programs O=$(O)
	@BUILD=$(O) t/demo/demo.sh

bench: all
	@$(MAKE) --no-print-directory test-programs O=$(O)
	@BUILD=$(O) t/bench/bench.sh

lint: need-deps
	@t/lint.sh

fmt:
	clang-format -i $$(git ls-files '*.c' '*.h')

install: all
	install -D -m 755 $(O)/neapd $(DESTDIR)$(PREFIX)/sbin/neapd
	install -D -m 755 $(O)/neapctl $(DESTDIR)$(PREFIX)/bin/neapctl
	for f in $$(find policies -name '*.lua'); do \
	  install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/neap/$$f; done

clean:
	rm -rf build build-*
