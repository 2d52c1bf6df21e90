#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion as the shells do it: the candidates come from the programs' own tables, and
# names of policies, versions and parameters from a daemon, if there is one.
#
# Runs beside others.
# shellcheck disable=SC2317,SC2016  # functions are called through check; scripts for other shells
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start

case $BUILD in /*) ;; *) BUILD=$PWD/$BUILD ;; esac
export PATH=$BUILD:$PATH
export NEAP_SOCKET=$WORK/neap.sock

# gives WORD... = CANDIDATE...: exactly these, in any order.
gives()
{
	local words=()
	while [ "$1" != = ]; do words+=("$1"); shift; done
	shift
	is "$("$BUILD/neapctl" __complete -- "${words[@]}" | cut -f 1 | sort | xargs)" "$(printf '%s\n' "$@" | sort | xargs)"
}

# --- from the tables ---
all_commands() { "$BUILD/neapctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\).*/\1/p' | sort -u; }
offered() { "$BUILD/neapctl" __complete -- "$@" | cut -f 1; }
check "every command of the help, and no other" is "$(offered '' | sort | xargs)" "$(all_commands | xargs)"
check "the group" gives policy d = delete diff
check "half a command" gives sta = status
# Every option that a command's help and that of neapctl have, and only those.
options_agree()
{
	local name wanted got
	while read -r name; do
		# shellcheck disable=SC2086  # two words
		wanted=$({ "$BUILD/neapctl" $name --help; "$BUILD/neapctl" --help; } | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -- '--[a-z-]+' | sort)
		# shellcheck disable=SC2086
		got=$(offered $name - | sort)
		if [ -z "$wanted" ] || [ "$got" != "$wanted" ]; then
			echo "$name: $got, wanted: $wanted"
			return 1
		fi
	done < <(sed -nE 's/^\t\.name = "([a-z -]+)",.*/\1/p' api/neapctl.c api/ctl/*.c api/ctl/*/*.c)
}
check "every option of every command" options_agree
check "values of an option" gives run --qos '' = LS BE
check "behind =" gives run --qos=B = --qos=BE
check "output" gives top -o '' = json yaml
check "files" gives policy check '' = :file
check "folders" gives release --run-dir '' = :dir
check "a program's own words are its own" gives run --qos BE -- make --so = :file
check "its name" gives run --qos BE -- ma = :command
check "shells" gives completion '' = bash zsh fish
check "what help takes" gives help policy r = "recording rollback"
check "an unknown command has nothing" gives nosuch '' =
check "nor too many words" gives status '' =
neapd_gives() { is "$("$BUILD/neapctl" __complete --neapd -- "$1" ${3+"$2"} | cut -f 1 | xargs)" "${3-$2}"; }
check "neapd: an option" neapd_gives --tic --tick
check "neapd: choices" neapd_gives --log-level '' "error warn info debug"
check "neapd: behind =" neapd_gives --log-format=j --log-format=json
check "neapd: folders" neapd_gives --data-dir '' :dir
neapd_all()
{
	is "$("$BUILD/neapctl" __complete --neapd -- -- | cut -f 1 | sort | xargs)" \
		"$("$BUILD/neapd" --help | grep -oE '^  --[a-z-]+' | tr -d ' ' | sort | xargs)"
}
check "neapd: every option of its help" neapd_all

# --- without a daemon: silent ---
quiet() { "$BUILD/neapctl" __complete -- "$@" >"$WORK/o" 2>&1 && [ ! -s "$WORK/o" ]; }
check "no names without a daemon" quiet policy show ''
check "no versions" quiet policy rollback qos/x ''
check "nothing at all" quiet

# --- with one ---
if [ "$(id -u)" = 0 ] && [ -w "$(hierarchy cpu)/cgroup.procs" ]; then
	check "a daemon" neapd_start --dry-run
	one='return { api = 1, kind = "qos", name = "one", params = { share = { type = "integer", min = 1, max = 9,
		default = 2, doc = "n" } }, tick = function() return {} end }'
	check "a policy" neapctl policy put - <<<"$one"
	version=$(neapctl policy show -o json qos/one | sed -n 's/.*"version": "\([0-9a-f]\{8\}\)".*/\1/p' | head -n 1)
	check "names of policies" gives policy show qos/ = qos/one qos/cpu-share
	check "behind another word" gives policy put x.lua qos/o = qos/one
	check "versions" gives policy rollback qos/one '' = "$version"
	check "of an option" gives policy delete qos/one --if-version '' = "$version"
	check "parameters" gives policy params qos/one s = share= :nospace
	check "by an option that says where neapd is" is \
		"$(NEAP_SOCKET=/nonexistent offered --socket "$WORK/neap.sock" policy show qos/o)" qos/one
	kill -STOP "$NEAPD_PID"
	# The quickest of three: how long it waits, and not how long a busy machine takes.
	quickest=60
	for _ in 1 2 3; do
		seconds=$SECONDS
		check "a daemon that does not answer is not waited for" quiet policy show ''
		[ $((SECONDS - seconds)) -ge "$quickest" ] || quickest=$((SECONDS - seconds))
	done
	check "for long" test "$quickest" -le 5
	kill -CONT "$NEAPD_PID"
	WITH_DAEMON=1
else
	skip "with a daemon" "needs root"
	WITH_DAEMON=
fi

# --- bash ---
"$BUILD/neapctl" completion bash >"$WORK/neapctl.bash"
# in_bash LINE: words as bash cuts them, the cursor at the end.
in_bash()
{
	bash --norc -c '
		. "$1"
		line=$2
		COMP_LINE=$line COMP_POINT=${#line}
		line=${line//=/ = }
		read -ra COMP_WORDS <<<"$line"
		case $2 in *" ") COMP_WORDS+=("") ;; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_neap "${COMP_WORDS[0]}"
		printf "%s\n" "${COMPREPLY[@]}"' bash "$WORK/neapctl.bash" "$1" 2>"$WORK/err"
	cat "$WORK/err"
}
check "bash registers both programs" is "$(bash --norc -c '. "$1"; complete -p neapctl neapd' bash "$WORK/neapctl.bash")" \
	"complete -F _neap neapctl
complete -F _neap neapd"
check "bash: a command" is "$(in_bash 'neapctl fre')" freeze
check "bash: an option's value" is "$(in_bash 'neapctl run --qos ' | xargs)" "LS BE"
check "bash: behind =, which it cuts at" is "$(in_bash 'neapctl run --qos=L')" LS
check "bash: files" is "$(in_bash 'neapctl policy check READ')" README.md
check "bash: folders only" is "$(in_bash 'neapctl release --run-dir=poli')" policies
check "bash: commands behind --" has "$(in_bash 'neapctl run --qos BE -- mktem')" mktemp
check "bash: neapd" is "$(in_bash 'neapd --log-form')" --log-format
[ -z "$WITH_DAEMON" ] || check "bash: a policy" is "$(in_bash 'neapctl policy show qos/o')" qos/one

# --- zsh, fish ---
if command -v zsh >/dev/null && zsh -fc 'zmodload zsh/zpty' 2>/dev/null; then
	mkdir "$WORK/fpath" && "$BUILD/neapctl" completion zsh >"$WORK/fpath/_neapctl"
	# in_zsh LINE: typed into an interactive one, TAB, and what the line then is.
	in_zsh()
	{
		zsh -fc '
			zmodload zsh/zpty
			zpty z zsh -f -i
			zpty -w z "PS1=; unsetopt zle_bracketed_paste; fpath=($1 \$fpath); autoload -U compinit; compinit -u -d $2/dump"
			zpty -w z "show() { print -r -- \"<<\$BUFFER>>\"; zle kill-whole-line }; zle -N show; bindkey \"^X\" show; cd $3; print rea\"\"dy"
			zpty -r -m z out "*ready*" || exit 1
			zpty -n -w z "$4"$'"'\\t\\x18'"'
			zpty -r -m z out "*<<*>>*"
			out=${out##*<<}; print -r -- ${out%%>>*}
			zpty -d z' zsh "$WORK/fpath" "$WORK" "$PWD" "$1"
	}
	check "zsh: a command" is "$(in_zsh 'neapctl fre')" "neapctl freeze "
	check "zsh: behind =" is "$(in_zsh 'neapctl run --qos=L')" "neapctl run --qos=LS "
	check "zsh: files" is "$(in_zsh 'neapctl policy check READ')" "neapctl policy check README.md "
	check "zsh: neapd" is "$(in_zsh 'neapd --log-form')" "neapd --log-format "
	[ -z "$WITH_DAEMON" ] || check "zsh: a policy" is "$(in_zsh 'neapctl policy show qos/o')" "neapctl policy show qos/one "
else
	skip "zsh" "zsh is not installed"
fi
if command -v fish >/dev/null; then
	"$BUILD/neapctl" completion fish >"$WORK/neapctl.fish"
	in_fish() { HOME=$WORK XDG_CONFIG_HOME=$WORK/config fish --no-config -c \
		"source $WORK/neapctl.fish; complete -C '$1'" 2>&1 | cut -f 1; }
	check "fish: a command" is "$(in_fish 'neapctl fre')" freeze
	check "fish: behind =" is "$(in_fish 'neapctl run --qos=L')" --qos=LS
	check "fish: files" is "$(in_fish 'neapctl policy check READ')" README.md
	check "fish: neapd" is "$(in_fish 'neapd --log-form')" --log-format
	[ -z "$WITH_DAEMON" ] || check "fish: a policy" is "$(in_fish 'neapctl policy show qos/o')" qos/one
else
	skip "fish" "fish is not installed"
fi
[ -z "$NEAPD_PID" ] || neapd_end TERM
tap_end
