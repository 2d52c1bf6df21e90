#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# neapctl policy, token, and how the daemon is found, against a small server that keeps
# one policy as the control API does: versions, conditions, refusals.
cd "$(dirname "$0")/../.." || exit 1
. t/lib/tap.sh
tap_start
C="$BUILD/neapctl"
unset NEAP_SOCKET NEAP_TOKEN NO_COLOR VISUAL EDITOR
export TMPDIR="$WORK/tmp"
mkdir "$TMPDIR"

# run STATUS COMMAND...: that status; out and err are kept.
run()
{
	local wanted=$1 rc
	shift
	"$@" >"$WORK/out" 2>"$WORK/err"
	rc=$?
	[ "$rc" = "$wanted" ] || { echo "status $rc"; cat "$WORK/out" "$WORK/err"; return 1; }
}
# prints STATUS PART COMMAND... / says STATUS PART COMMAND...: the part on stdout /
# stderr.
prints() { local s=$1 p=$2; shift 2; run "$s" "$@" && has "$(cat "$WORK/out")" "$p"; }
says() { local s=$1 p=$2; shift 2; run "$s" "$@" && has "$(cat "$WORK/err")" "$p"; }
out_is() { is "$(cat "$WORK/out")" "$1"; }
is_json() { "$@" | perl -MJSON::PP -0777 -ne 'decode_json($_)'; }
asked() { grep -qF -- "$1" "$WORK/asked" || { tail -n 3 "$WORK/asked"; return 1; }; }
clean_tmp() { is "$(ls -A "$TMPDIR")" ""; }
# On a terminal of its own, answering with the words of the first argument.
terminal() { local keys=$1; shift; printf '%b' "$keys" | TERM=xterm script -qec "$*" /dev/null; }

cat >"$WORK/server.pl" <<'P'
use strict;
use warnings;
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP;
my ($where, $log, $mode) = @ARGV;
my $server = $where =~ m,^/,
  ? IO::Socket::UNIX->new(Type => SOCK_STREAM, Local => $where, Listen => 8)
  : IO::Socket::INET->new(LocalAddr => $where, Listen => 8, ReuseAddr => 1);
$server or die "$where: $!";
my $json = JSON::PP->new->canonical;
my $P = '/control/v1/policies/qos/x';
my %text = (aaaaaaaa => "-- one\nreturn 1\n", bbbbbbbb => "-- two\n\treturn 1 -- \e[2J\n", cccccccc => "bad\n");
my $active = 'bbbbbbbb';
my $params = {threshold => 65, rate => '10s', mode => 'soft'};
my $schema = {threshold => {type => 'percent', min => 1, max => 100, default => 65, doc => 'share of the node'},
  rate => {type => 'duration', default => '10s', doc => 'how often'},
  mode => {type => 'enum', values => ['soft', 'hard'], default => 'soft'},
  ratio => {type => 'number', doc => 'no default'}, on => {type => 'boolean', default => JSON::PP::false},
  rest => {type => 'map', default => {}}};
my @history = ({time => 'T3', verb => 'failed', version => 'cccccccc', by => 'neapd', why => 'errors'},
  {time => 'T2', verb => 'put', version => 'bbbbbbbb', by => 'uid 0', why => 'two'},
  {time => 'T1', verb => 'put', version => 'aaaaaaaa', by => 'token', why => "one\e[2J"});
my $replay = {frames => 60, ran => 59, same => 58, faults => 0, is_complete => JSON::PP::true,
  differences => [{unix => 1700000000, frame => 3, older => ['besteffort cpu.max_milli=2400'], newer => 'hold'}]};
sub row {
  return {policy => 'qos/x', kind => 'qos', name => 'x', version => $active, layer => 'uploaded', origin => 'upload',
    state => 'active', calls => 4, wishes => 3, holds => 1, skipped => 0, errors => 2, spent => 0, starved => 0, cpu_usec => 400,
    params => $params, last_error => "x.lua:3: boom\e[2J", doc => "keeps\nthings", schema => $schema, text => $text{$active}};
}
my $rows = sub { [row(), {policy => 'qos/y', kind => 'qos', name => 'y', state => 'refused',
  refused => {file => '/etc/neap/y.lua', message => "y.lua:12: no '\e[2J'", line => 12}},
  {policy => 'qos/z', kind => 'qos', name => 'z', state => 'refused', refused => {message => 'z.lua:1: bad'}}] };
sub result { return {result => $_[0], policy => 'qos/x', version => $_[1], replaced => $_[2],
  examples => {passed => 12, failed => 0}, cpu_usec => 812, replay => $replay}; }
my $count = 0;
sub answer {
  my ($method, $url, $h, $body) = @_;
  my $if = $h->{'if-match'} // '';
  return (401, {message => 'who are you'}) if $mode =~ /token=(\S+)/ && ($h->{authorization} // '') ne "Bearer $1";
  return (403, {message => 'only root and neapd'}) if $mode eq 'closed';
  return (200, $rows->()) if $url eq '/control/v1/policies';
  return (200, {state => 'acting', version => '9.8.7'}) if $url eq '/control/v1/status' || $url eq '/version';
  return (200, {token_file => '/var/lib/neap/token'}) if "$method $url" eq 'POST /control/v1/token/rotate';
  return (404, {code => 'NotFound', message => 'there is no policy of this name'})
    unless $url =~ m,^\Q$P\E(?=[/?]|$)(.*)|^/control/v1/policies/qos/owned(.*),;
  my $rest = $1 // $2;
  return (200, {policy => 'qos/owned', version => 'aaaaaaaa', owner_file => '/etc/neap/owned.lua'})
    if $url =~ /owned$/ && $method eq 'GET';
  return (409, {code => 'Conflict', message => 'qos/owned belongs to /etc/neap/owned.lua'}) if $url =~ /owned/;
  if ($method eq 'GET' && $rest eq '') {
    return (200, $text{$active}, $active) if ($h->{accept} // '') eq 'text/x-lua';
    return (200, row(), $active);
  }
  return (200, $text{$1} // return (404, {message => 'no such version'}))
    if $method eq 'GET' && $rest =~ m,^/versions/(\w{8})$,;
  return (200, {policy => 'qos/x', active => $active, before => (grep { $_ ne $active } sort keys %text)[0], history => \@history,
    versions => [map { {version => $_, bytes => length $text{$_}, time => 'T', by => 'uid 0', why => '',
      is_active => $_ eq $active ? JSON::PP::true : JSON::PP::false,
      has_failed => $_ eq 'cccccccc' ? JSON::PP::true : JSON::PP::false} } reverse sort keys %text]})
    if $method eq 'GET' && $rest eq '/versions';
  if ($rest eq '/params') {
    if ($method eq 'PATCH') {
      my $new = decode_json($body);
      return (422, {code => 'Invalid', field => 'threshold', message => "parameter 'threshold': '200' is not allowed"})
        if ($new->{threshold} // 1) eq '200';
      $params = {%$params, %$new};
      $params->{$_} //= $schema->{$_}{default} for keys %$new;
    }
    return (200, {policy => 'qos/x', version => $active, values => $params, set => {}, schema => $schema});
  }
  return (412, {code => 'PreconditionFailed', message => "version $active is live"})
    if $if ne '' && $if ne '*' && $if ne qq("$active");
  if ($method eq 'PUT') {
    return (415, {message => 'no Lua'}) if ($h->{'content-type'} // '') ne 'text/x-lua';
    return (422, {code => 'Invalid', message => 'x.lua:2: wrong', problems => [{line => 2, what => "wrong\e[2J"},
      {example => 'busy', what => 'got 1, wanted 2'}], replay => {frames => 60, ran => 60, same => 0, faults => 60, first_fault => 'nil'}})
      if $body =~ /WRONG/;
    return (409, {code => 'Conflict', message => 'busy with another'}) if $body =~ /BUSY/;
    return (200, result('checked', 'dddddddd', $active)) if $rest =~ /dryRun=true/;
    return (200, {%{result('unchanged', $active, $active)}, replay => undef}) if $body eq $text{$active};
    my ($old, $new) = ($active, sprintf 'd%07x', ++$count);
    $text{$new} = $body;
    $active = $new;
    return (201, result('live', $new, $old));
  }
  if ($method eq 'POST' && $rest eq '/rollback') {
    my $to = $body eq '' ? 'aaaaaaaa' : decode_json($body)->{to};
    return (404, {message => "there is no version $to"}) unless exists $text{$to};
    my $old = $active;
    $active = $to;
    return (200, {%{result('live', $to, $old)}, examples => undef, replay => undef, note => 'parameters are kept'});
  }
  return (200, {result => 'deleted', policy => 'qos/x', version => $active,
    now => $if eq '*' ? undef : {version => '12345678', origin => 'x.lua'}}) if $method eq 'DELETE';
  return (404, {message => 'gone'});
}
my $streams = 0;
$SIG{PIPE} = 'IGNORE';
while (my $client = $server->accept) {
  while (defined(my $line = <$client>)) {
    my ($method, $url) = split / /, $line;
    my (%h, $body);
    while (defined(my $header = <$client>)) {
      last if $header =~ /^\r?\n$/;
      $h{lc $1} = $2 if $header =~ /^([^:]+): *(.*?)\r?\n$/;
    }
    $body = '';
    read $client, $body, $h{'content-length'} if $h{'content-length'};
    open my $out, '>>', $log or die $!;
    print $out "$method $url ", join(' ', map { "$_=$h{$_}" } grep { /if-match|accept|type|auth/ } sort keys %h), " $body\n";
    close $out;
    if ($url =~ m,^/control/v1/audit,) {
      if (($h{accept} // '') eq 'text/event-stream') {
        $streams++;
        print $client "HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: hello\n\n";
        $client->flush;
        my $seq = $streams * 10;
        for my $piece ("id: $seq\nevent: audit\nda", "ta: {\"seq\":$seq,\"what\":\"write\",", "\"why\":\"s$streams\"}\r\n\r\n") {
          print $client $piece;
          $client->flush;
          select undef, undef, undef, 0.05;
        }
        last;
      }
      my ($since) = $url =~ /since=(\d+)/;
      my $entries = defined $since ? [] : [{seq => 7, what => 'write', why => 'first'}];
      my $reply = $json->encode({entries => $entries, last => $since // 7});
      print $client "HTTP/1.1 200 X\r\nConnection: close\r\nContent-Length: " . length($reply) . "\r\n\r\n$reply";
      last;
    }
    my ($status, $reply, $etag) = answer($method, $url, \%h, $body);
    $reply = $json->encode($reply) if ref $reply;
    print $client "HTTP/1.1 $status X\r\nConnection: close\r\nContent-Length: " . length($reply) . "\r\n"
      . (defined $etag ? "ETag: \"$etag\"\r\n" : '') . "\r\n$reply";
    last; # one at a time, so that nobody waits for a client that thinks
  }
}
P
SERVERS=''
# server ADDRESS MODE
server()
{
	perl "$WORK/server.pl" "$1" "$WORK/asked" "${2:-}" 2>>"$WORK/server.err" &
	SERVERS="$SERVERS $!"
}
# shellcheck disable=SC2086  # pids
trap 'kill $SERVERS 2>/dev/null; tap_cleanup' EXIT
server "$WORK/fake.sock"
eventually 5 test -S "$WORK/fake.sock"
fake() { "$C" --socket "$WORK/fake.sock" "$@"; }

# --- list and show ---
check "list" prints 0 "qos/x   bbbbbbbb  uploaded  active       4       2      0    100 us  upload" fake policy list
check "a file that did not pass, as editors read it" grep -qxF "qos/y: /etc/neap/y.lua:12: no '\x1b[2J'" "$WORK/out"
check "an upload that did not pass" grep -qxF "qos/z: z.lua:1: bad" "$WORK/out"
check "list as JSON" is_json fake policy list -o json
check "colours on a terminal" has "$(terminal '' "$C --socket $WORK/fake.sock policy list")" "$(printf '\033[31mqos/y')"
check "none with NO_COLOR" not has "$(NO_COLOR=1 terminal '' "$C --socket $WORK/fake.sock policy list")" "$(printf '\033')"
check "show" prints 0 "policy     qos/x@bbbbbbbb" fake policy show qos/x
check "its counters" grep -qx "calls      4: 3 wishes, 1 times held, 0 skipped for want of data, 0 starved" "$WORK/out"
check "its last error, clean" grep -qF 'boom\x1b[2J' "$WORK/out"
check "its parameters" grep -qE '^threshold +65 +65 +percent 1\.\.100 +share of the node$' "$WORK/out"
check "an enum's values" grep -qE '^mode +soft +soft +enum soft\|hard +-$' "$WORK/out"
check "show as JSON" is_json fake policy show qos/x -o json
check "its text" run 0 fake policy show --text qos/x
check "byte for byte" cmp <(printf -- '-- two\n\treturn 1 -- \033[2J\n') "$WORK/out"
check "clean on a terminal" has "$(terminal '' "$C --socket $WORK/fake.sock policy show --text qos/x")" "-- \x1b[2J"
check "text or JSON" says 2 "not both" fake policy show --text -o json qos/x
check "a policy that there is not" says 1 "no policy of this name" fake policy show qos/none
for name in x qos qos/ /x qos/x/y 'qos/x?a' QOS/x qos/../x; do
	check "'$name' is no name" says 2 "KIND/NAME" fake policy show "$name"
done

# --- put ---
good='return { api = 1, kind = "qos", name = "x", tick = function() return {} end }'
echo "$good" >"$WORK/x.lua"
sed 's/$/ -- WRONG/' "$WORK/x.lua" >"$WORK/wrong.lua"
printf 'return {\n  api = 1,,\n}\n' >"$WORK/syntax.lua"
check "a dry run" prints 0 "qos/x@dddddddd would go live in place of bbbbbbbb; nothing was changed" \
	fake policy put --dry-run "$WORK/x.lua"
check "its examples" grep -qx "12 examples passed, 812 us of CPU time" "$WORK/out"
check "its replay" grep -qx "58 of 59 recorded ticks as before, 1 not tried for want of time" "$WORK/out"
check "a difference" has "$(cat "$WORK/out")" "  2023-11-14T22:13:20Z
    - besteffort cpu.max_milli=2400
    + hold"
check "without colours" not grep -q "$(printf '\033')" "$WORK/out"
check "the name is that of the text" asked "PUT /control/v1/policies/qos/x?dryRun=true"
check "put" prints 0 "qos/x@d0000001 is live in place of bbbbbbbb" fake policy put "$WORK/x.lua"
check "again" prints 0 "qos/x@d0000001 is live already; nothing was changed" fake policy put "$WORK/x.lua"
check "from standard input" prints 0 "already" fake policy put - <"$WORK/x.lua"
check "as JSON" is_json fake policy put -o json "$WORK/x.lua"
check "wanted version" prints 0 "already" fake policy put --if-version d0000001 "$WORK/x.lua"
check "goes as If-Match" asked 'if-match="d0000001"'
check "any version" prints 0 "already" fake policy put --if-version '*' "$WORK/x.lua"
check "goes without quotes" asked 'if-match=*'
check "another version" says 1 "version d0000001 is live" fake policy put --if-version aaaaaaaa "$WORK/x.lua"
check "no version" says 2 "8 hex digits" fake policy put --if-version new "$WORK/x.lua"
check "a refused one ends in 1" run 1 fake policy put "$WORK/wrong.lua"
check "its problems, with the file given" has "$(cat "$WORK/err")" "$WORK/wrong.lua:2: wrong\x1b[2J
$WORK/wrong.lua: example 'busy': got 1, wanted 2
60 recorded ticks tried
60 of them failed: nil
neapctl: refused; all is as it was"
check "and nothing on stdout" out_is ""
check "problems as JSON" has "$(fake policy put -o json "$WORK/wrong.lua" 2>/dev/null)" '"example": "busy"'
: >"$WORK/asked"
check "one that does not load here" says 1 "$WORK/syntax.lua:2" fake policy put "$WORK/syntax.lua"
check "is not sent" is "$(cat "$WORK/asked")" ""
check "unless it has a name" run 0 fake policy put "$WORK/syntax.lua" qos/x
check "no such file" says 1 "none.lua" fake policy put "$WORK/none.lua"
check "a wrong name" says 2 "KIND/NAME" fake policy put "$WORK/x.lua" nowhere
check "what a directory owns" says 1 "belongs to /etc/neap/owned.lua" fake policy put "$WORK/x.lua" qos/owned
check "without a daemon" says 3 "no neapd answers" "$C" --socket "$WORK/none.sock" policy put "$WORK/x.lua"
perl -e 'print "-- ", "x" x 900000, "\n"' >"$WORK/large.lua"
check "a large one" run 0 fake policy put "$WORK/large.lua" qos/x
fake policy show --text qos/x >"$WORK/back.lua"
check "comes back whole" cmp "$WORK/large.lua" "$WORK/back.lua"

# --- rollback, history, diff ---
check "rollback" prints 0 "qos/x@aaaaaaaa is live" fake policy rollback qos/x
check "a note" grep -qx "parameters are kept" "$WORK/out"
check "to a version" prints 0 "qos/x@bbbbbbbb is live in place of aaaaaaaa" fake policy rollback qos/x bbbbbbbb
check "that there is" says 1 "no version 99999999" fake policy rollback qos/x 99999999
check "in its form" says 2 "hex digits" fake policy rollback qos/x latest
check "history" run 0 fake policy history qos/x
check "the active version" grep -qE '^bbbbbbbb +active' "$WORK/out"
check "a failed one" grep -qE '^cccccccc +failed' "$WORK/out"
check "what happened, clean" grep -qE '^T1 +put +aaaaaaaa +token +one\\x1b\[2J$' "$WORK/out"
check "history as JSON" is_json fake policy history qos/x -o json
check "diff" run 1 fake policy diff qos/x
check "of the version before" has "$(head -n 2 "$WORK/out")" "--- qos/x@aaaaaaaa
+++ qos/x@bbbbbbbb"
check "its lines" grep -qxF -- "--- one" "$WORK/out"
check "one version against that in force" prints 1 "--- qos/x@cccccccc" fake policy diff qos/x cccccccc
check "two versions" prints 1 "+++ qos/x@aaaaaaaa" fake policy diff qos/x cccccccc aaaaaaaa
check "no difference" run 0 fake policy diff qos/x aaaaaaaa aaaaaaaa
check "nothing is said" out_is ""
check "a file" prints 1 "+++ $WORK/x.lua" fake policy diff qos/x --file "$WORK/x.lua"
check "the same file" run 0 fake policy diff qos/x --file <(fake policy show --text qos/x)
check "an unknown version is trouble" says 2 "no such version" fake policy diff qos/x 99999999
check "no file is trouble" says 2 "none.lua" fake policy diff qos/x --file "$WORK/none.lua"
check "no diff is trouble" says 2 "diff: " env PATH=/nowhere "$C" --socket "$WORK/fake.sock" policy diff qos/x
check "versions or a file" says 2 "not both" fake policy diff qos/x aaaaaaaa --file "$WORK/x.lua"
colored=$(terminal '' "$C --socket $WORK/fake.sock policy diff qos/x")
check "coloured on a terminal" has "$colored" "$(printf '\033[32m+-- two')"
check "and clean" has "$colored" "-- \x1b[2J"
check "no file is left" clean_tmp

# --- params ---
check "params" prints 0 "PARAM      VALUE  DEFAULT  TYPE" fake policy params qos/x
check "unset is a dash" grep -qE '^ratio +- +- +number' "$WORK/out"
check "params as JSON" is_json fake policy params qos/x -o json
check "setting" run 0 fake policy params qos/x threshold=70 rate=20s ratio=0.5 on=true 'rest={"a":[1]}'
check "prints what holds now" grep -qE '^threshold +70 +65' "$WORK/out"
check "typed by the schema" asked '{"threshold":70,"rate":"20s","ratio":0.5,"on":true,"rest":{"a":[1]}}'
check "nothing behind it is null" run 0 fake policy params qos/x threshold=
check "in JSON" asked '{"threshold":null}'
check "what is no number goes as text" run 0 fake policy params qos/x threshold=70%
check "to be judged there" asked '{"threshold":"70%"}'
check "a refused one" says 1 "threshold: parameter 'threshold': '200' is not allowed" fake policy params qos/x threshold=200
check "an unknown one" says 1 "did you mean threshold?" fake policy params qos/x treshold=1
check "no assignment" says 2 "NAME=VALUE" fake policy params qos/x threshold
check "no name" says 2 "NAME=VALUE" fake policy params qos/x =1

# --- delete, token ---
check "delete" prints 0 "qos/x@bbbbbbbb is deleted; what acts now is version 12345678 from x.lua" fake policy delete qos/x
check "with nothing behind it" prints 0 "nothing acts in its place" fake policy delete --if-version '*' qos/x
check "delete as JSON" is_json fake policy delete qos/x -o json
check "another version stays" says 1 "version bbbbbbbb is live" fake policy delete --if-version aaaaaaaa qos/x
check "token rotate" prints 0 "the new token is in /var/lib/neap/token" fake token rotate
check "token rotate as JSON" is_json fake token rotate -o json

# --- edit ---
# editor NAME SCRIPT: a program that edits the file in $1
editor() { printf '#!/bin/sh\n%s\n' "$2" >"$WORK/$1"; chmod 755 "$WORK/$1"; }
# shellcheck disable=SC2016  # the editors expand them
{
	editor none ':'
	editor good 'stat -c %a "$1" >'"$WORK"'/mode; echo "$1" >'"$WORK"'/name; echo "-- good" >>"$1"; echo rest >"$1~"'
	editor wrong 'echo "-- WRONG" >>"$1"'
	editor busy 'echo "-- BUSY" >>"$1"'
	editor mend 'if grep -q WRONG "$1"; then sed -i s/WRONG/FINE/ "$1"; else echo "-- WRONG" >>"$1"; fi'
	editor fails 'exit 3'
	editor saves 'echo "-- more" >>"$1"; exit 3'
	editor empty ': >"$1"'
	editor races '"$C" --socket "$S" policy rollback qos/x aaaaaaaa >/dev/null; echo "-- mine" >>"$1"'
}
export C S="$WORK/fake.sock"
edits() { EDITOR="$WORK/$1" fake policy edit qos/x; }
kept() { sed -n 's/.*your text is kept in //p' "$WORK/err" | tr -d '\r'; }
: >"$WORK/asked"
check "edit without a change" says 0 "unchanged; nothing was sent" edits none
check "sends nothing" not asked PUT
check "edit" prints 0 "is live in place of bbbbbbbb" edits good
check "only if nobody else did" asked 'if-match="bbbbbbbb"'
check "in a private file" is "$(cat "$WORK/mode")" 600
check "that is called Lua" has "$(cat "$WORK/name")" "/x.lua"
check "whose rests go" clean_tmp
check "VISUAL comes first, with words" run 0 env EDITOR=false VISUAL="sh $WORK/none" "$C" --socket "$S" policy edit qos/x
check "an editor that fails" says 1 "ended with status 3" edits fails
check "leaves nothing" clean_tmp
check "one that saves and fails" run 1 edits saves
check "keeps the text" grep -q more "$(kept)"
check "no editor" says 1 "ended with status 127" env EDITOR=/no/editor "$C" --socket "$S" policy edit qos/x
check "an emptied file" says 1 "it is empty" edits empty
check "a refused text" says 1 "/x.lua:2: wrong" edits wrong
check "is kept" grep -q WRONG "$(kept)"
check "busy" says 1 "busy with another" edits busy
check "is kept too" grep -q BUSY "$(kept)"
check "somebody else was faster" says 1 "somebody else changed it meanwhile" edits races
check "this text is kept" grep -q mine "$(kept)"
check "theirs is in force" has "$(fake policy show -o json qos/x)" '"version": "aaaaaaaa"'
check "what a directory owns is not opened" says 1 "edit that file" env EDITOR=false "$C" --socket "$S" policy edit qos/owned
rm -rf "${TMPDIR:?}"/*
again=$(EDITOR="$WORK/mend" terminal 'y\n' "$C --socket $S policy edit qos/x")
check "on a terminal it may be mended" has "$again" "edit again? [Y/n]"
check "and goes live" has "$again" "is live in place of aaaaaaaa"
check "and is not kept" clean_tmp
again=$(EDITOR="$WORK/wrong" terminal 'n\n' "$C --socket $S policy edit qos/x")
check "or given up" has "$again" "your text is kept in $TMPDIR"

# --- audit as a stream ---
"$C" --socket "$S" audit -f >"$WORK/follow" 2>"$WORK/err" &
FOLLOWER=$!
follows() { has "$(tr '\n' ' ' <"$WORK/follow")" "7 write: first 10 write: s1 20 write: s2"; }
check "a page, then events, across streams" eventually 2 follows
kill "$FOLLOWER"
check "the stream goes on behind the page" asked "GET /control/v1/audit?since=7 accept=text/event-stream"
check "a reader that goes ends it" is "$(to_end "$C" --socket "$S" audit -f -o json | head -n 1)" \
	'{"seq":7,"what":"write","why":"first"}'

# --- finding the daemon, in a network and with folders of our own ---
cat >"$WORK/found.sh" <<'S'
set -e
ip link set lo up
mount -t tmpfs none /run
mount -t tmpfs none /var/lib
mkdir /run/neap /var/lib/neap
cd "$WORK"
ask() { "$C" status >out 2>err; echo "$? $(head -n 1 out err | tr '\n' ' ')"; }
wait_for()
{
	for _ in $(seq 200); do
		perl -MIO::Socket -e 'exit !($ARGV[0] =~ m,^/, ? IO::Socket::UNIX->new(Peer => $ARGV[0])
			: IO::Socket::INET->new($ARGV[0]))' "$1" && return
		sleep 0.05
	done
}
start() { perl server.pl "$@" 2>>server.err & pids="$pids $!"; wait_for "$1"; }
stop() { kill $pids; wait $pids 2>/dev/null || true; pids=''; rm -f /run/neap/neap.sock; }
pids=''
echo "nobody: $(ask)"
start 127.0.0.1:6327 asked token=secret
echo "no token: $(ask)"
echo secret >/var/lib/neap/token
chmod 600 /var/lib/neap/token
echo "token: $(ask)"
start /run/neap/neap.sock asked closed
echo "closed: $(ask)"
rm /var/lib/neap/token
echo "closed, no token: $(ask)"
echo "environment: $(NEAP_TOKEN=secret ask)"
echo "wrong: $(NEAP_TOKEN=other ask)"
echo "named socket: $(NEAP_SOCKET=/run/neap/none.sock NEAP_TOKEN=secret ask)"
stop
start /run/neap/neap.sock asked ''
echo "open: $(ask)"
stop
# A port that some user took while neapd is down.
echo secret >/var/lib/neap/token
: >asked
chmod 666 asked
chmod 666 server.err
setpriv --reuid 12345 --clear-groups perl server.pl 127.0.0.1:6327 asked '' 2>>server.err &
pids=$!
wait_for 127.0.0.1:6327
echo "foreign: $(ask)"
echo "asked: $(cat asked)"
chown 12345 /var/lib/neap/token
echo "owner: $(ask)"
stop
S
if unshare -mn true 2>/dev/null && command -v ip >/dev/null && command -v setpriv >/dev/null; then
	export WORK
	C=$(readlink -f "$C") unshare -mn bash "$WORK/found.sh" >"$WORK/found" 2>&1
	C="$BUILD/neapctl"
	found() { grep "^$1: $2" "$WORK/found" || { cat "$WORK/found"; return 1; }; }
	check "nobody there names both places" found nobody "3 .*no neapd answers at /run/neap/neap.sock or 127.0.0.1:6327"
	check "TCP without a token" found "no token" "1 .*who are you.*--token-file"
	check "the token is found" found token "0 .*9.8.7"
	check "also where the socket is closed" found closed "0 .*9.8.7"
	check "a closed socket and no token" found "closed, no token" "1 .*only root"
	check "NEAP_TOKEN" found environment "0 .*9.8.7"
	check "a wrong one" found wrong "1 .*who are you"
	check "a named socket is the only place" found "named socket" "3 .*none.sock: start"
	check "an open socket" found open "0 .*9.8.7"
	check "another user's port gets no token" found foreign "3 .*user 12345 does, who is not neapd"
	check "nor any request" grep -qx "asked: " "$WORK/found"
	check "the owner of the token does" found owner "0 .*9.8.7"
else
	TAP_N=$((TAP_N + 1))
	echo "ok $TAP_N - finding the daemon # SKIP needs root and network namespaces"
fi
# shellcheck disable=SC2086
kill $SERVERS
wait 2>/dev/null
check "the server had no trouble" is "$(cat "$WORK/server.err")" ""
tap_end
