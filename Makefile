# neap: a Lua-scriptable policy engine that lets latency-critical services and batch jobs
# share machines.
#
#   make run        set up what is missing, build, start neapd on this machine; DATA=DIR
#                   keeps its objects there
#   make laptop     the same, and pods of kubectl run here as processes of the user
#                   neap-pods
#   make test       set up, build, run every test (TAP), or TESTS='json live'; the last
#                   line counts them
#   make test-vm    cgroup and topology tests on a kernel of their own in qemu: cgroup v2,
#                   16 CPUs, 2 nodes
#   make peers      build real parts of Kubernetes into PEERS=DIR (~/.cache/neap-peers):
#                   ten minutes, once
#   make test-peers neap beside them, in full; TESTS='differ'
#   make test-node  neap beside a real kubelet with containerd and runc, for minutes;
#                   NODE_LONG=1 for every case
#   make chaos      attacks, kills, full disks, stopped processes, upgrades under load:
#                   long forms
#   make torture    fail each allocation in turn; TORTURE_SECONDS=N for all of it (400),
#                   TORTURE=NAME picks
#   make demo       a latency-critical service beside batch jobs, with figures, in about a
#                   minute
#   make all        build neapd and neapctl into build/
#   make t/cpuset   one test alone (t/test_cpuset.c or t/sh/cpuset.t); CASE=name picks one
#                   case
#   make t/attack/http  one attack alone, in its short form; CHAOS_LONG=1 for the long one
#   make lint       include directions, file length, banned functions, clang-tidy,
#                   cppcheck, luacheck
#   make fuzz       fuzz all that reads hostile text: FUZZ_SECONDS=10 each,
#                   FUZZ_TARGETS="http wire" only those
#   make soak       an hour of churn: memory and descriptors stay (SOAK_SECONDS=3600)
#   make bench      the figures of t/bench as ratios
#   make bench-node  a server beside best-effort burners, as pods of a real kubelet,
#                    minutes (doc/internals/tick.md); what a node asks of a server beside
#                    that kubelet
#   make bench-colocation  a service beside batch work under every policy, an hour
#                          (doc/colocation.md)
#   make fmt        lay out C sources by .clang-format; make doc/lua-api.md of lua/meta
#   make doc/strategies.md  of policies/deschedule
#   make deps       install the Debian packages that are missing
#   make deb        build/neap_VERSION_ARCH.deb for Debian 12; VERSION= for another number
#   make sim        descheduling in clusters that are played: 10,000 rounds and a day,
#                   and 1,000 pods that are moved one by one
#   make test-deb   that package: installed, upgraded and removed in a Debian tree, and in
#                   a booted one
#   make install    programs, policies, types for editors, manuals, completion, units;
#                   DESTDIR= PREFIX=
#   make uninstall  takes away what make install puts there; with the same DESTDIR=
#                   PREFIX=
#   make clean      remove what was built
#
#   V=1 shows commands; O=DIR builds elsewhere; SAN=address,undefined or SAN=thread builds
#   with sanitizers into a folder of its own; WERROR=1 makes warnings errors.

SAN     ?=
comma   := ,
O       ?= build$(if $(SAN),-$(subst $(comma),-,$(SAN)))
V       ?= 0
PREFIX  ?= /usr/local
VERSION := 0.1.0

ifeq ($(origin CC),default)
CC      := gcc
endif
PKGS    := libevent libevent_openssl jansson hwloc libcgroup libseccomp lua5.4 yaml-0.1 openssl libcurl sqlite3 libpcre2-8
PKG_OK  := $(shell pkg-config --exists $(PKGS) cmocka 2>/dev/null && command -v $(CC) prove >/dev/null && echo yes)
CFLAGS  ?= -O2 -g
WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
           -Wvla -Wwrite-strings -Wno-missing-field-initializers -Wno-format-truncation $(if $(WERROR),-Werror)
ALL_CFLAGS := -std=gnu11 -D_GNU_SOURCE -I. $(WARN) $(CFLAGS) -fno-strict-aliasing -fstack-protector-strong \
           -fPIC -fno-semantic-interposition \
           -DNEAP_VERSION='"$(VERSION)"' -DNEAP_SHARE_DIR='"$(PREFIX)/share/neap"' \
           $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all) \
           $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
ALL_LDFLAGS := $(LDFLAGS) $(if $(SAN),-fsanitize=$(SAN)) -Wl,-z,relro,-z,now -Wl,--as-needed
LIBS    := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm -lpthread

ifeq ($(V),1)
Q :=
say = @:
else
Q := @
say = $(eval SAID += x)@printf '  $(COUNT)%-6s %s\n' $(1) $(patsubst $(O)/%,%,$(2))
endif

# "[12/310]": how far a build is. What there is to do is told by a make that does nothing,
# behind one that notes the flags.
SAID :=
TO_SAY := $(if $(COUNTED),$(shell $(MAKE) COUNTED= O='$(O)' $(O)/flags $(O)/objects >/dev/null 2>&1; \
            $(MAKE) -n COUNTED= COUNTING=1 O='$(O)' $(MAKECMDGOALS) \
            2>/dev/null | grep -c "^printf '  "))
COUNT = $(if $(filter-out 0 1,$(TO_SAY)),[$(words $(SAID))/$(TO_SAY)] )

MAINS   := api/neapd.c api/neapctl.c
LIB_SRC := $(filter-out $(MAINS),$(wildcard engine/*/*.c engine/*/*/*.c hw/*.c hw/*/*.c lua/*/*.c api/*.c api/*/*.c api/*/*/*.c))
# The tables of the built-in kinds are made of text.
TYPES   := $(wildcard api/kube/types/*.types)
# Texts that neapctl prints, writes or sends.
TEXTS   := $(filter-out %.awk,$(wildcard api/ctl/texts/*))
TEXTS   += $(if $(TEXTS),$(sort $(wildcard doc/deploy/crds/*.yaml)))
LIB_OBJ := $(LIB_SRC:%.c=$(O)/%.o) $(if $(TYPES),$(O)/api/kube/types/tables.o) $(if $(TEXTS),$(O)/api/ctl/texts/texts.o)
# What tests can make fail: compiled a second time for them, as no program that is
# installed has these hooks.
FAULTY  := $(wildcard engine/base/mem.c api/policy/folder.c)
FAULT_OBJ := $(FAULTY:%.c=$(O)/faults/%.o)
PROGS   := $(patsubst api/%.c,$(O)/%,$(wildcard $(MAINS)))
T_SRC   := $(wildcard t/test_*.c)
T_SH    := $(wildcard t/sh/*.t)
# Beside real parts of Kubernetes, where make peers has built them.
T_PEERS := $(wildcard t/peers/*.t)
T_NODE  := $(wildcard t/node/*.t)
# Attacks: programs and scripts that judge themselves; a program beside a script of its
# name is run by it.
A_SRC   := $(wildcard t/attack/*.c)
A_SH    := $(wildcard t/attack/*.t)
A_NAMES := $(sort $(A_SRC:%.c=%) $(A_SH:%.t=%))
T_BIN   := $(patsubst %.c,$(O)/%,$(T_SRC) $(A_SRC))
T_HELP  := $(patsubst t/%.c,$(O)/t/%.o,$(wildcard t/lib/*.c))
# The program is called as its folder, so its objects lie in another.
VEC_OBJ := $(patsubst t/vectors/%.c,$(O)/t/vectors.o/%.o,$(wildcard t/vectors/*.c))
VEC_OBJ += $(if $(VEC_OBJ),$(O)/t/lib/policy_rule.o)
TOOLS   := $(patsubst %.c,$(O)/%,$(wildcard t/demo/*.c t/bench/*.c t/chaos/*.c t/vm/*.c))
TOOL_OBJ := $(patsubst %.c,$(O)/%.o,$(wildcard t/chaos/lib/*.c))
# Fuzz targets read files; built by `make fuzz` they are fuzzers.
FUZZ    := $(patsubst t/fuzz/%.c,$(O)/t/fuzz/%,$(wildcard t/fuzz/*.c))
FUZZ_OBJ := $(addprefix $(O)/t/fuzz/lib/,fuzz.o http_reading.o) $(O)/t/lib/policy_rule.o \
           $(if $(findstring fuzzer,$(SAN)),,$(O)/t/fuzz/lib/replay.o)
FUZZ_SECONDS ?= 10
# Torture: its objects lie beside, as above; the allocator that fails also as a library to
# preload.
TORT_OBJ := $(patsubst t/torture/%.c,$(O)/t/torture.o/%.o,$(wildcard t/torture/*.c))
TORT_BIN := $(if $(TORT_OBJ),$(O)/t/torture $(O)/t/failmalloc.so)
VECTORS := $(if $(VEC_OBJ),$(O)/t/vectors)
MANS    := $(if $(shell command -v lowdown),$(patsubst doc/%.md,$(O)/doc/%,$(wildcard doc/*.[158].md)))
SHELLS  := $(addprefix $(O)/completion/,neapctl.bash _neapctl neapctl.fish)
T_NAMES := $(T_SRC:t/test_%.c=t/%) $(T_SH:t/sh/%.t=t/%)
# What depends on the kernel: cgroup v2 and a topology of two sockets.
T_VM    := $(addprefix $(O)/t/test_,cgroup cpu_enforce_groups readings scan hand hand_life hand_trigger hw_topology) \
           $(addsuffix .t,$(addprefix t/sh/,run life live kubelet hostapp hotplug reaction doctor pods-lean cpu-pin cpu-pin-kubelet \
           reserved-cpus lowest chaos-clock chaos-kill chaos-upgrade))
T_WRONG := $(filter-out $(T_NAMES) $(A_NAMES) $(T_PEERS:.t=),$(filter t/%,$(MAKECMDGOALS)))

.PHONY: all run laptop demo demo-programs chaos peers sim test test-peers test-node torture test-vm test-deb test-programs fuzz fuzz-programs soak lint bench bench-colocation bench-node \
        fmt install uninstall deb clean help deps need-deps \
        $(T_NAMES) $(A_NAMES) $(T_PEERS:.t=) $(T_WRONG) FORCE
.DELETE_ON_ERROR:
.SECONDARY:
# Several goals one after the other: the makes that they start would write the same files.
ifeq ($(MAKELEVEL),0)
ifneq ($(word 2,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif
endif

# What is built is decided in a second make, as packages may come in between. It uses
# every CPU, unless -j says how many, or another make did. Expanded late: a makefile that
# is read does not see -j yet.
JOBS     = $(if $(filter 0,$(MAKELEVEL)),$(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc)))
SUBMAKE  = $(MAKE) --no-print-directory $(JOBS) O=$(O) COUNTED=1

all: need-deps
	+@$(SUBMAKE) programs

.PHONY: programs
programs: $(PROGS) $(MANS) $(SHELLS)
	@:

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

need-deps:
	@if [ -d '$(O)' ] && ! [ -w '$(O)' ]; then \
	  echo "make: $(O) belongs to $$(stat -c %U '$(O)'), who built here before: build elsewhere with 'make O=DIR', or give" \
	    "the tree to $$(id -un) as root: chown -R $$(id -un) ." >&2; exit 1; fi
	@t/deps.sh $(if $(PKG_OK),--versions,build)

deps:
	@t/deps.sh

# A changed compiler or flag rebuilds everything, an unchanged one nothing; so does the
# list of objects for the archive, as a source that went leaves no newer file behind.
STAMP = @mkdir -p $(@D); printf '%s\n' '$(subst ','\'',$(1))' > $@.new; \
        if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi

$(O)/flags: $(if $(COUNTING),,FORCE)
	$(call STAMP,$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $(LIBS))

$(O)/objects: $(if $(COUNTING),,FORCE)
	$(call STAMP,$(LIB_OBJ))

$(O)/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/api/kube/types/tables.c: api/kube/types/types.awk $(TYPES)
	$(call say,AWK,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $^ >$@

$(O)/api/kube/types/tables.o: $(O)/api/kube/types/tables.c $(O)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/api/ctl/texts/texts.c: api/ctl/texts/texts.awk $(TEXTS)
	$(call say,AWK,$@)
	@mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $^ >$@

$(O)/api/ctl/texts/texts.o: $(O)/api/ctl/texts/texts.c $(O)/flags
	$(call say,CC,$@)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/faults/%.o: %.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -DNEAP_FAULTS -MMD -MP -c -o $@ $<

$(O)/t/vectors.o/%.o: t/vectors/%.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/t/torture.o/%.o: t/torture/%.c $(O)/flags
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libneap.a: $(LIB_OBJ) $(O)/objects
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $(LIB_OBJ)

$(PROGS): $(O)/%: $(O)/api/%.o $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $< $(O)/libneap.a $(LIBS)

# Hundreds of tests share the library, as each with its own copy makes gigabytes and
# minutes of links.
SO_OBJ  := $(filter-out $(FAULTY:%.c=$(O)/%.o),$(LIB_OBJ)) $(FAULT_OBJ)
$(O)/libneap.so: $(SO_OBJ) $(O)/objects
	$(call say,LD,$@)
	$(Q)$(CC) -shared $(ALL_LDFLAGS) -Wl,-Bsymbolic-functions -o $@ $(SO_OBJ) $(LIBS)

# Counts who loads policies; calls within the shared library cannot be wrapped.
T_WRAPS := $(O)/t/test_descheduler_thread
$(T_WRAPS): $(O)/%: $(O)/%.o $(T_HELP) $(FAULT_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,--wrap=neap_policy_load -o $@ $< $(T_HELP) $(FAULT_OBJ) $(O)/libneap.a $(LIBS) -lcmocka

$(filter-out $(T_WRAPS),$(T_BIN)): $(O)/%: $(O)/%.o $(T_HELP) $(O)/libneap.so
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' -o $@ $< $(T_HELP) $(O)/libneap.so $(LIBS) -lcmocka

$(O)/t/vectors: $(VEC_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(VEC_OBJ) $(O)/libneap.a $(LIBS)

$(FUZZ): $(O)/%: $(O)/%.o $(FUZZ_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $(if $(findstring fuzzer,$(SAN)),-fsanitize=fuzzer) -o $@ $< $(FUZZ_OBJ) \
	  $(O)/libneap.a $(LIBS)

$(O)/t/torture: $(TORT_OBJ) $(T_HELP) $(FAULT_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(TORT_OBJ) $(T_HELP) $(FAULT_OBJ) $(O)/libneap.a $(LIBS) -lcmocka

$(O)/t/failmalloc.so: t/torture/failmalloc.c $(O)/flags
	$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fPIC -shared -MMD -MP -o $@ $<

$(O)/t/bench/accumulator: $(O)/t/vectors.o/cpu_case.o $(O)/faults/engine/base/mem.o
$(O)/t/bench/cluster_fill: $(O)/t/lib/fill.o
$(O)/t/bench/deschedule: $(O)/t/lib/sim_rig.o
$(O)/t/bench/bench_vm: $(O)/t/lib/steps.o $(O)/t/lib/steps_rows.o
# Where the time of a bench goes: the linker puts its clock around these.
$(O)/t/bench/schedule: private ALL_LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,\
  neap_pod_new neap_cluster_set_pod neap_cluster_assume_with neap_cluster_settle neap_decide_pod neap_decide_claim \
  neap_claim_annotations neap_client_bind neap_store_write_take neap_store_hear neap_scores scheduler_tell_placed \
  scheduler_hear)
$(TOOLS): $(O)/%: $(O)/%.o $(TOOL_OBJ) $(O)/libneap.a
	$(call say,LD,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(O)/libneap.a $(LIBS)

$(O)/doc/%: doc/%.md
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D) && lowdown -s -Tman -o $@ $<

# As the program prints them, so that they are no older than it.
$(O)/completion/neapctl.bash: SHELL_NAME := bash
$(O)/completion/_neapctl: SHELL_NAME := zsh
$(O)/completion/neapctl.fish: SHELL_NAME := fish
$(SHELLS): $(O)/neapctl
	$(call say,SHELL,$@)
	$(Q)mkdir -p $(@D) && $(O)/neapctl completion $(SHELL_NAME) >$@

-include $(shell find $(O) -type f -name '*.d' 2>/dev/null)

# One test alone.
$(T_NAMES): t/%: need-deps FORCE
	+@if [ -f t/test_$*.c ]; then \
	  $(SUBMAKE) $(O)/t/test_$* && \
	  CASE='$(CASE)' BUILD=$(O) CMOCKA_MESSAGE_OUTPUT=TAP $(O)/t/test_$*; \
	else \
	  $(SUBMAKE) test-programs && BUILD=$(O) CASE='$(CASE)' t/sh/$*.t; fi

$(A_NAMES): need-deps FORCE
	+@$(SUBMAKE) programs $(addprefix $(O)/,$(filter $@,$(A_SRC:%.c=%)))
	@if [ -f $@.t ]; then BUILD=$(O) $@.t; else BUILD=$(O) CASE='$(CASE)' CMOCKA_MESSAGE_OUTPUT=TAP $(O)/$@; fi

$(T_PEERS:.t=): need-deps FORCE
	+@$(SUBMAKE) programs
	@BUILD=$(O) PEERS='$(PEERS)' PEERS_LONG=1 $@.t

$(T_WRONG):
	@echo "no test '$@'; there is:" $(sort $(patsubst t/%,%,$(T_NAMES) $(A_NAMES) $(T_PEERS:.t=))); exit 2

test-programs: $(PROGS) $(T_BIN) $(FUZZ) $(VECTORS) $(TOOLS)
	@:

fuzz-programs: $(FUZZ)
	@:

# gcc has no libFuzzer. -O1: twice as fast to build, and its stack traces can be read.
fuzz: need-deps
	@t/deps.sh fuzz
	+@$(MAKE) --no-print-directory O=build-fuzz CC=clang CFLAGS='-O1 -g -Wno-unknown-warning-option' \
	  SAN=fuzzer-no-link,address,undefined fuzz-programs
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' BUILD=build-fuzz t/fuzz/run.sh $(FUZZ_TARGETS)

# What has no package here is told, and the tests that need it are skipped.
test: need-deps
	@t/deps.sh lint docs test || echo 'make test: what needs these is skipped' >&2
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) SAN=$(SAN) PEERS='$(PEERS)' t/run-tests.sh $(TESTS)

# Outside the tree, as it takes minutes: make clean leaves it.
peers:
	@t/deps.sh peers
	@PEERS='$(PEERS)' t/peers/build.sh

test-peers: need-deps
	@t/deps.sh test peers || echo 'make test-peers: what needs these is skipped' >&2
	+@$(SUBMAKE) programs
	@BUILD=$(O) SAN=$(SAN) PEERS='$(PEERS)' PEERS_LONG=1 t/run-tests.sh $(or $(TESTS:%=peers/%),$(T_PEERS))

test-node: need-deps
	+@$(SUBMAKE) $(PROGS)
	@BUILD=$(O) SAN=$(SAN) PEERS='$(PEERS)' NODE_LONG='$(NODE_LONG)' t/run-tests.sh $(or $(TESTS:%=node/%),$(T_NODE))

torture: need-deps
	@$(if $(filter address thread,$(subst $(comma), ,$(SAN))),echo 'torture: an allocator of its own: without SAN=$(SAN)' >&2; exit 2,:)
	+@$(SUBMAKE) $(PROGS) $(TORT_BIN)
	@BUILD=$(O) $(O)/t/torture -t $(or $(TORTURE_SECONDS),400) $(if $(TORTURE),'$(TORTURE)')

test-vm: need-deps
	@$(SUBMAKE) test-programs
	@BUILD=$(O) SAN=$(SAN) t/vm/run.sh $(T_VM)

sim: need-deps
	+@$(SUBMAKE) $(O)/t/test_sim
	@SIM_ROUNDS=$(or $(SIM_ROUNDS),10000) $(O)/t/test_sim
	@BUILD=$(O) NODES=50 t/sh/balance.t

soak: all
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) t/soak/soak.sh

# Objects, token and uploaded policies in a folder of one's own.
DATA_OPTION = $(if $(DATA),--data-dir $(DATA))

run: all
	@t/run.sh $(O) $(DATA_OPTION)

laptop: all
	@t/run.sh $(O) --run-pods --run-pods-user neap-pods $(DATA_OPTION)

# What the demo and the tutorials measure with.
demo-programs: all
	+@$(SUBMAKE) $(patsubst %.c,$(O)/%,$(wildcard t/demo/*.c))

demo: all demo-programs
	@BUILD=$(O) t/demo/demo.sh

chaos: need-deps
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) SAN=$(SAN) t/chaos/run.sh

bench: all
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) PEERS='$(PEERS)' t/bench/bench.sh

bench-colocation: all
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) t/bench/colocation.sh

bench-node: all
	+@$(SUBMAKE) test-programs
	@BUILD=$(O) PEERS='$(PEERS)' t/bench/node.sh
	@BUILD=$(O) PEERS='$(PEERS)' t/bench/node-requests.sh

lint: need-deps
	@t/deps.sh lint
	@t/lint.sh

fmt: doc/lua-api.md
	clang-format -i $$(git ls-files '*.c' '*.h')

# Kept in git, as it is read there; t/sh/docs.t finds a stale one.
doc/lua-api.md: doc/lua-api.awk $(wildcard lua/meta/*.lua)
	awk -f $^ >$@

doc/strategies.md: $(O)/t/demo/strategies $(wildcard policies/deschedule/*.lua)
	$^ >$@

install: all
	install -D -m 755 $(O)/neapd $(DESTDIR)$(PREFIX)/sbin/neapd
	install -D -m 755 $(O)/neapctl $(DESTDIR)$(PREFIX)/bin/neapctl
	for f in $$(find policies lua/runtime lua/meta -name '*.lua' 2>/dev/null); do \
	  install -D -m 644 $$f $(DESTDIR)$(PREFIX)/share/neap/$$f || exit 1; done
	for f in $$(cd doc/deploy/crds 2>/dev/null && ls *.yaml); do \
	  install -D -m 644 doc/deploy/crds/$$f $(DESTDIR)$(PREFIX)/share/neap/crds/$$f || exit 1; done
	for f in $$(cd doc && find . -name '*.md' ! -name '*.[158].md'); do \
	  install -D -m 644 doc/$$f $(DESTDIR)$(PREFIX)/share/doc/neap/$$f || exit 1; done
	for f in $$(cd $(O)/doc 2>/dev/null && ls); do \
	  install -D -m 644 $(O)/doc/$$f $(DESTDIR)$(PREFIX)/share/man/man$${f##*.}/$$f || exit 1; done
	install -D -m 644 $(O)/completion/neapctl.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/neapctl
	ln -sf neapctl $(DESTDIR)$(PREFIX)/share/bash-completion/completions/neapd
	install -D -m 644 $(O)/completion/_neapctl $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_neapctl
	install -D -m 644 $(O)/completion/neapctl.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/neapctl.fish
	ln -sf neapctl.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/neapd.fish
	for f in $$(cd doc/deploy 2>/dev/null && ls *.service *.slice); do \
	  mkdir -p $(DESTDIR)$(PREFIX)/lib/systemd/system && \
	  sed 's,/usr/sbin/,$(PREFIX)/sbin/,' doc/deploy/$$f >$(DESTDIR)$(PREFIX)/lib/systemd/system/$$f || exit 1; done

# What an install would put there now, so that there is one list; folders go when nothing
# else is in them.
uninstall: all
	@tree=$$(mktemp -d) && trap 'rm -rf "$$tree"' EXIT && \
	$(SUBMAKE) DESTDIR="$$tree" PREFIX='$(PREFIX)' install >/dev/null && \
	(cd "$$tree" && find . ! -type d) | while read -r f; do rm -f "$(DESTDIR)/$$f"; done && \
	for d in share/neap share/doc/neap; do [ ! -d "$(DESTDIR)$(PREFIX)/$$d" ] || \
	  find "$(DESTDIR)$(PREFIX)/$$d" -depth -type d -exec rmdir --ignore-fail-on-non-empty {} +; done

# Built for /usr, beside the other objects.
DEB := $(O)/deb-$(VERSION)
deb: need-deps
	@t/deps.sh deb docs
	@rm -rf $(DEB)/tree
	+@$(SUBMAKE) O=$(DEB) PREFIX=/usr CFLAGS='$(CFLAGS) -D_FORTIFY_SOURCE=2' programs
	+@$(SUBMAKE) O=$(DEB) PREFIX=/usr CFLAGS='$(CFLAGS) -D_FORTIFY_SOURCE=2' DESTDIR=$(DEB)/tree install >/dev/null
	@doc/deploy/deb/build.sh $(DEB)/tree $(VERSION) $(O)

test-deb: need-deps
	@t/deps.sh deb vm
	@BUILD=$(O) t/deb/run.sh

clean:
	rm -rf build build-*
