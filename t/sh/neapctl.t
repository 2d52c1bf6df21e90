#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl by itself: help, options, what works without a daemon, and what it makes of a
# daemon's answers, which here come from a small server that gives canned ones.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
C="$BUILD/neapctl"
unset NEAP_SOCKET NO_COLOR

# says WANTED-STATUS PART COMMAND...: that status, one line on stderr with the part, no
# stdout.
says()
{
	local status=$1 part=$2 rc
	shift 2
	"$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	is "$rc" "$status" && has "$(cat "$WORK/err")" "$part" &&
		is "$(wc -l <"$WORK/err")" 1 && is "$(cat "$WORK/out")" ""
}
# prints PART COMMAND...: status 0 and the part on stdout.
prints()
{
	local part=$1
	shift
	"$@" >"$WORK/out" 2>"$WORK/err" || { cat "$WORK/err"; return 1; }
	has "$(cat "$WORK/out")" "$part"
}
is_json() { "$@" | perl -MJSON::PP -0777 -ne 'decode_json($_)'; }

# --- help ---
check "help lists the commands" prints "policy check" "$C" help
check "--help too" prints "topology" "$C" --help
for command in run ps logs stop top status audit freeze release resume topology cpus "explain pod" "explain reservation" "policy list" "policy show" "policy new" \
	"policy check" "policy put" "policy edit" "policy diff" "policy history" "policy rollback" \
	"policy delete" "policy params" "token rotate" version help; do
	# shellcheck disable=SC2086  # two words are two words
	check "$command --help" prints "neapctl $command" "$C" $command --help
	# shellcheck disable=SC2086
	check "help $command" prints "neapctl $command" "$C" help $command
done
# Its call in an example is one of its own, with options that it has.
with_example()
{
	local wanted=$1
	# shellcheck disable=SC2086  # two words are two words
	"$C" help $wanted >"$WORK/out" && has "$(cat "$WORK/out")" "Example:
  neapctl $wanted" && not grep -q -- '--cacert' "$WORK/out" || return 1
	while read -r option; do
		sed '/^Example:/,$d' "$WORK/out" | grep -qE -- "(^| )$option( |,|\[|$)" || { echo "no option $option"; return 1; }
	done < <(sed -n '/^Example:/{n;p}' "$WORK/out" | sed 's/ -- .*//' | grep -oE ' --?[a-z-]+')
}
mapfile -t named < <("$C" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p')
check "the list of commands is read" test "${#named[@]}" -ge 32
for command in "${named[@]}"; do
	check "help of $command has an example, and options of its own only" with_example "$command"
done
# Where there is JSON there is YAML, in help and usage.
yaml_too() { not grep -qE -- '-o json( |\]|$)|--output json( |$)' <(sed '/^Example:/,$d' "$WORK/out") && grep -q 'json|yaml' "$WORK/out"; }
outputs=0
for command in "${named[@]}"; do
	# shellcheck disable=SC2086  # two words are two words
	"$C" help $command >"$WORK/out"
	grep -q -- '-o json' "$WORK/out" || continue
	outputs=$((outputs + 1))
	check "$command prints YAML, too" yaml_too
done
check "many do" test "$outputs" -ge 20
check "help of a group" prints "policy list" "$C" policy --help
check "version" prints "neapctl " "$C" --version

# --- bad words ---
check "no command" says 2 "help" "$C"
check "an unknown command names what there is" says 2 "topology" "$C" frobnicate
check "a near one is named" says 2 "did you mean status" "$C" statsu
check "an unknown word of a group" says 2 "list, show, new, check" "$C" policy frob
check "a near one of it is named" says 2 "did you mean policy show" "$C" policy shw
check "a group alone" says 2 "there is list, show, new, check" "$C" policy
check "a group stands once in the list" says 2 "topology, cpus, deschedule, explain, policy, backup, restore, install-crds, token, completion, version" "$C" frobnicate
check "an unknown option" says 2 "--interval" "$C" top --frob
check "a near option is named" says 2 "did you mean --synthetic" "$C" topology --syntetic x
check "an unknown option before the command" says 2 "--socket" "$C" --frob status
check "an option without its value" says 2 "-n: needs a value" "$C" top -n
check "a number out of its range" says 2 "-n: '0'" "$C" top -n 0
check "a time below its range" says 2 "100ms" "$C" top -d 1ms
check "an output that there is not" says 2 "yaml" "$C" status -o xml
check "too many words" says 2 "'more' is too much" "$C" status more
check "too few words" says 2 "FILE" "$C" policy check
check "help of what there is not" says 2 "frob" "$C" help frob

# --- topology ---
SYNTHETIC='pack:2 numa:1 l3:1 core:2 pu:2'
check "a synthetic machine" prints "2 sockets" "$C" topology --synthetic "$SYNTHETIC"
check "as JSON" is_json "$C" topology --synthetic "$SYNTHETIC" -o json
check "with its CPUs" prints '"cpu_count": 8' "$C" topology --synthetic "$SYNTHETIC" -o json
check "an XML file" prints "socket" "$C" topology --xml t/topologies/hybrid.xml
# hwloc itself leaks some bytes at half a file, which leak checkers would report here.
check "a broken XML file" says 1 "cut-short.xml" env ASAN_OPTIONS=detect_leaks=0 "$C" topology --xml t/topologies/cut-short.xml
check "no XML file" says 1 "none.xml" "$C" topology --xml "$WORK/none.xml"
check "one of the two" says 2 "not both" "$C" topology --xml a --synthetic b
check "no colour in a file" not grep -q "$(printf '\033')" "$WORK/out"
check "this machine" prints "socket" "$C" --socket "$WORK/none.sock" topology

# --- workloads ---
check "ps of another machine" says 2 "unix socket" "$C" --server 127.0.0.1:1 ps
check "stop without a name" says 2 "usage: neapctl stop" "$C" stop
check "logs of no name" says 1 "is no name" env XDG_STATE_HOME="$WORK" "$C" logs ../etc
check "logs of what there is not" says 1 "without --background" env XDG_STATE_HOME="$WORK" "$C" logs nobody
check "a folder of logs that cannot be" says 1 "neap" env XDG_STATE_HOME=/dev/null "$C" logs nobody

# --- policies ---
mkdir "$WORK/new"
N="$(realpath "$C")"
fresh() { (cd "$WORK/new" && "$N" policy new "$@"); }
mapfile -t kinds < <(sed -nE 's/^\t\t\.name = "([a-z]+)",/\1/p' lua/run/kind.c)
check "the kinds are read" test "${#kinds[@]}" -ge 4
for kind in "${kinds[@]}"; do
	check "policy new $kind" prints "my-$kind.lua is written" fresh "$kind" "my-$kind"
	check "it passes its check, with examples" prints "$kind/my-$kind@" "$C" policy check "$WORK/new/my-$kind.lua"
	check "of which it has some" not grep -q "no examples" "$WORK/out"
	cp "$WORK/new/my-$kind.lua" "$WORK/kept"
	check "one that is there stays" says 1 "is there already" fresh "$kind" "my-$kind"
	check "as it is" cmp "$WORK/new/my-$kind.lua" "$WORK/kept"
done
check "a kind that there is not" says 2 "there is qos, score" fresh frob mine
check "a name that is none" says 2 "'../mine' is no name" fresh qos ../mine
check "a folder that takes nothing" says 1 "mine.lua" sh -c "mkdir -p '$WORK/new/gone' && cd '$WORK/new/gone' && rmdir ../gone && exec '$N' policy new qos mine"
printf 'return { api = 1, kind = "qos", name = "fine", tick = function() return {} end }\n' \
	>"$WORK/fine.lua"
printf 'return {\n  api = 1,,\n}\n' >"$WORK/syntax.lua"
printf 'error("a\\27[2Jb")\n' >"$WORK/escape.lua"
check "a good policy" prints "qos/fine@" "$C" policy check "$WORK/fine.lua"
check "one without examples is told so" prints "fine.lua: warning: no examples" "$C" policy check "$WORK/fine.lua"
sed 's/return {}/return { { target = "best-effort", key = "cpu.idle", value = 1, why = "w" } }/' \
	"$WORK/fine.lua" >"$WORK/typo.lua"
check "and tried on a made input" not "$C" policy check "$WORK/typo.lua"
check "a target that is none" has "$("$C" policy check "$WORK/typo.lua" 2>&1)" "there is no 'best-effort'"
check "a bad one fails" not "$C" policy check "$WORK/fine.lua" "$WORK/syntax.lua"
check "with file and line" has "$("$C" policy check "$WORK/syntax.lua" 2>&1)" "syntax.lua:2"
check "nothing of it acts on the terminal" not grep -q "$(printf '\033')" \
	<("$C" policy check "$WORK/escape.lua" 2>&1)

# --- no daemon ---
for command in status top audit freeze resume "policy list" "policy show qos/x" "policy edit qos/x" \
	"policy diff qos/x" "token rotate"; do
	# shellcheck disable=SC2086
	check "$command without a daemon" says 3 "no neapd answers at $WORK/none.sock" \
		"$C" --socket "$WORK/none.sock" $command
done
check "the socket by environment" says 3 "$WORK/env.sock" env NEAP_SOCKET="$WORK/env.sock" "$C" status
check "the option beats it" says 3 "$WORK/none.sock" env NEAP_SOCKET=x "$C" --socket "$WORK/none.sock" status
check "after the command too" says 3 "$WORK/none.sock" "$C" status --socket "$WORK/none.sock"
check "over TCP" says 3 "127.0.0.1:1" "$C" --server 127.0.0.1:1 status
check "a token file that is not there" says 1 "none.token" \
	"$C" --server 127.0.0.1:1 --token-file "$WORK/none.token" status
check "a proxy is not asked" says 3 "no neapd answers" env http_proxy=http://127.0.0.1:9 \
	"$C" --server 127.0.0.1:1 status

# --- run ---
check "run needs a class" says 2 "--qos" "$C" run -- true
check "and a right one" says 2 "LSX" "$C" run --qos LSX -- true
check "and a command" says 2 "COMMAND" "$C" run --qos BE
check "a bad CPU quantity" says 2 "--cpu-request: '5x'" "$C" run --qos BE --cpu-request 5x -- true
check "a bad memory quantity" says 2 "--memory-limit: '0'" "$C" run --qos BE --memory-limit 0 -- true
check "run over TCP" says 2 "unix socket" "$C" --server 127.0.0.1:1 run --qos BE -- true
check "no such path" says 127 "/no/such" "$C" run --qos BE -- /no/such
check "no such program" says 127 "no-such-program" "$C" run --qos BE -- no-such-program
: >"$WORK/plain"
check "no program at all" says 126 "plain" "$C" run --qos BE -- "$WORK/plain"
check "a folder" says 126 "$WORK" "$C" run --qos BE -- "$WORK"
check "run without a daemon" says 125 "no neapd" "$C" --socket "$WORK/none.sock" run --qos BE -- true

# --- against canned answers ---
cat >"$WORK/server.pl" <<'P'
use strict;
use warnings;
use IO::Socket::UNIX;
my ($path, $log) = @ARGV;
my $server = IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => $path, Listen => 8) or die $!;
my %answers = (
  'GET /control/v1/status' => '{"state":"acting","version":"9.8.7","pid":12,"hand_pid":13,
    "uptime_seconds":3725.5,"ticks":77,"tick_cpu_usec_avg":55,"cgroup":"v1",
    "node":{"capacity_milli":4000,"used_milli":1250,"critical_used_milli":1000,
      "memory_capacity_bytes":8589934592,"cpu_pressure":0.125},
    "trees":[{"root":"neap","driver":"cgroupfs","own":true}],
    "unsupported":["cpu.cfs_burst_us: not on this kernel"],
    "policies":[{"policy":"qos/cpu-share","version":"3f2a91c0","state":"active","calls":4,"errors":0,
      "cpu_usec":400,"params":{"threshold":65}}]}',
  'GET /control/v1/workloads' => '[{"id":"burn","name":"burn\u001b[2J\u009b","qos":"BE","used_milli":1500,
    "throttled_ratio":0.25,"cpu_pressure":0.5,"memory_bytes":1048576,"cpus":"0-3",
    "limited_by":"cpu.shares","why":"best effort"},{"name":"svc","qos":"LS"},7]',
  'POST /control/v1/release' => '{"state":"released","given_back":3}',
  'POST /control/v1/freeze' => '{"state":"frozen","given_back":0}',
  'POST /control/v1/run' => '{"id":"job-1","name":"job-1","group":"neap-besteffort/podjob-1","qos":"BE"}',
);
$answers{'GET /control/v1/policies'} = '[' . ($answers{'GET /control/v1/status'} =~ /"policies":\[(.*)\]/s)[0] . ']';
my @entries = map { qq({"seq":$_,"time":"2026-01-02T03:04:05.000Z","what":"write","group":"neap-besteffort",
  "key":"cpu.shares","old_value":"1024","new_value":"$_","policy":"qos/x\@1","why":"w\\u001b[2J$_"}) } 1 .. 1500;
while (my $client = $server->accept) {
  while (defined(my $line = <$client>)) {
    my ($method, $url) = split / /, $line;
    my $length = 0;
    while (defined(my $header = <$client>)) {
      $length = $1 if $header =~ /^content-length: *(\d+)/i;
      last if $header =~ /^\r?\n$/;
    }
    my $body = '';
    read $client, $body, $length if $length;
    open my $out, '>>', $log or die $!;
    print $out "$method $url $body\n";
    close $out;
    my ($status, $reply) = (200, $answers{"$method $url"});
    if ($url =~ m,^/control/v1/audit\?,) {
      my $limit = $url =~ /limit=(\d+)/ ? $1 : 200;
      my $from = $url =~ /since=(\d+)/ ? $1 : 1500 - $limit;
      my $to = $from + $limit > 1500 ? 1500 : $from + $limit;
      $reply = '{"entries":[' . join(',', @entries[$from .. $to - 1]) . '],"last":1500}';
    }
    ($status, $reply) = (409, qq({"code":"Conflict","field":"name","message":"taken\\u001b[2J"}))
      if $body =~ /"name":"taken"/;
    ($status, $reply) = (503, '{"code":"Unavailable","message":"only watches"}') if $url =~ /resume/;
    ($status, $reply) = (200, 'no JSON') if $url eq '/version';
    ($status, $reply) = (404, 'gone') if !defined $reply;
    print $client "HTTP/1.1 $status X\r\nContent-Length: " . length($reply) . "\r\n\r\n$reply";
  }
}
P
perl "$WORK/server.pl" "$WORK/fake.sock" "$WORK/asked" 2>"$WORK/server.err" &
server=$!
trap 'kill "$server" 2>/dev/null; tap_cleanup' EXIT
eventually 5 test -S "$WORK/fake.sock"
fake() { "$C" --socket "$WORK/fake.sock" "$@"; }

check "status" prints "state     acting" fake status
check "its figures" prints "1.25 of 4.00 used: critical 1.00, best-effort -, system -" fake status
check "the uptime" prints "up 1h2m5s" fake status
check "what is missing" prints "cpu.cfs_burst_us: not on this kernel" fake status
check "status as JSON" is_json fake status -o json
check "a member of it" prints '"hand_pid": 13' fake status -o json
check "status as YAML" prints 'hand_pid: 13' fake status -o yaml
check "without control characters" not grep -q "$(printf '\033')" "$WORK/out"
check "top as YAML" prints 'name: "burn\e[2J\x9B"' fake top -o yaml
check "audit as YAML" prints "- seq: 1500" fake audit -o yaml --limit 1
check "top" prints "acting" fake top
row='burn\\x1b\[2J\\u009b  BE   1.50       25 %      50 %  1.00 MiB  0-3   cpu.shares  best effort'
check "a row of top, without control characters" grep -qx "$row" "$WORK/out"
check "absent members are dashes" grep -qx 'svc  *LS  *-  *-  *-  *-  *-  *-  *-' "$WORK/out"
check "two tables" is "$(fake top -b -n 2 -d 100ms | grep -c '^NAME')" 2
check "top as JSON" is_json fake top -o json
check "top on a terminal comes and goes" has "$(printf q | TERM=xterm script -qec \
	"$C --socket $WORK/fake.sock top -n 1" /dev/null 2>/dev/null || echo 'no script: 1049l 1049h')" 1049l
check "an order of top that there is not" says 2 "cpu|memory" fake top --sort frob
check "sorted by CPU the busy one is first" has "$(fake top -b --sort cpu | grep -A1 '^NAME')" burn
check "by name the other is last" has "$(fake top -b -s n | tail -n 1)" svc
# A terminal of 80 columns, whose keys come through a fifo, each when the picture before
# it is there.
mkfifo "$WORK/keys"
if command -v script >/dev/null; then
	TERM=dumb script -qefc "stty cols 80 rows 24; $C --socket $WORK/fake.sock top -d 1h" "$WORK/screen" <"$WORK/keys" >/dev/null 2>&1 &
	screen=$!
	exec 9>"$WORK/keys"
	titles() { grep -ac "^$(printf '\033')*\(\[H\)\{0,1\}NAME" "$WORK/screen"; }
	drawn() { [ "$(titles)" -ge "$1" ]; }
	check "top draws" eventually 5 drawn 1
	check "LIMIT and WHY are there at 80 columns" grep -aq 'LIMIT.*WHY' "$WORK/screen"
	check "and no line is longer" test "$(tr -d '\r' <"$WORK/screen" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' | grep -a burn | wc -L)" -le 80
	printf n >&9
	check "a key draws it anew" eventually 5 drawn 2
	sorted() { tr -d '\r' <"$WORK/screen" | grep -aE '^(.\[H)?(burn|svc)' | tail -n 2 | head -n 1 | grep -q "$1"; }
	check "sorted by name" eventually 5 sorted burn
	printf '\033[B' >&9
	check "an arrow scrolls nothing where all is seen" eventually 5 drawn 3
	printf m >&9
	check "sorting by memory" eventually 5 drawn 4
	printf q >&9
	exec 9>&-
	check "q ends it" wait "$screen"
fi
check "policy list" prints "qos/cpu-share  3f2a91c0  -      active" fake policy list
check "cost of a call" prints "100 us" fake policy list
check "audit" prints "1500 2026-01-02T03:04:05.000Z write neap-besteffort cpu.shares 1024 -> 1500 qos/x@1: w\x1b[2J1500" \
	fake audit
check "it gives the newest" is "$(fake audit | wc -l)" 200
check "fewer" is "$(fake audit --limit 3 | cut -d ' ' -f 1 | tr '\n' ' ')" "1498 1499 1500 "
check "from a number on, page by page" is "$(fake audit --since 10 --limit 1400 | wc -l)" 1400
check "to the end" is "$(fake audit --since 1490 | cut -d ' ' -f 1 | tr '\n' ' ')" \
	"1491 1492 1493 1494 1495 1496 1497 1498 1499 1500 "
check "more than a page of the newest" is "$(fake audit --limit 1200 | head -n 1 | cut -d ' ' -f 1)" 301
check "audit as JSON" is_json fake audit -o json
"$C" --socket "$WORK/fake.sock" audit -f --limit 2 >"$WORK/follow" &
FOLLOWER=$!
follows() { is "$(cut -d ' ' -f 1 "$WORK/follow" | tr '\n' ' ')" "1499 1500 "; }
check "following begins with the newest" eventually 2 follows
sleep 1 # it would ask again
check "and prints each once" follows
kill "$FOLLOWER"
check "release" prints "3 values given back" fake release
check "release finds the socket by its folder" prints "3 values" sh -c \
	"cp -l '$WORK/fake.sock' '$WORK/neap.sock' && '$C' release --run-dir '$WORK'"
check "freeze" prints "frozen" fake freeze
check "a refusal" says 1 "only watches" fake resume
check "an answer that is no JSON does no harm" prints "neapctl " fake version
check "topology with a daemon" prints "est-effort" fake topology

# --- run, canned ---
# shellcheck disable=SC2016  # the command expands them
check "run becomes the command" is "$(fake run --qos BE -- sh -c 'echo "$0 $1"' a b)" "a b"
check "without a word of its own" is "$(fake run --qos BE -- true 2>&1)" ""
check "with one if asked" has "$(fake run --qos BE -v -- true 2>&1)" "neap-besteffort/podjob-1"
fake run --qos LS --name n --cpu-request 500m --cpu-limit 2 --memory-limit 1Ki -- sh -c 'exit 7'
check "the exit status is the command's" is $? 7
check "the daemon is told all" grep -qF '"cpu_request_milli":500,"cpu_limit_milli":2000,"memory_limit_bytes":1024' "$WORK/asked"
check "and the command" grep -qF '"command":["sh","-c","exit 7"]' "$WORK/asked"
# shellcheck disable=SC2016
(fake run --qos BE -- sh -c 'kill -TERM $$') 2>/dev/null
check "a signal is the command's" is $? 143
check "a broken pipe still ends it" is "$(fake run --qos BE -- sh -c \
	'trap - PIPE; grep SigIgn /proc/self/status | tr -d "\t"')" "$(grep SigIgn /proc/self/status | tr -d '\t')"
# shellcheck disable=SC2016
check "words after the last are none" is "$(fake run --qos BE -- sh -c 'echo $#' a b c)" 2
# shellcheck disable=SC2016
list='for fd in /proc/$$/fd/*; do readlink "$fd"; done'
check "no socket is left to it" not has "$(fake run --qos BE -- sh -c "$list" </dev/null)" socket
check "a refusal starts nothing" says 125 "name: taken\x1b[2J" fake run --qos BE --name taken -- echo no
kill "$server"
wait "$server" 2>/dev/null
check "the server had no trouble" is "$(cat "$WORK/server.err")" ""
tap_end
