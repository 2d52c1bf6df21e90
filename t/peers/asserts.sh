# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154,SC1090,SC1091,SC2218
#
# Runs kubectl's own test scripts (test/cmd of the Kubernetes source) against a server
# that is there already:
#
#   bash asserts.sh TREE PORT OUT SHARD
#
# in TREE, a copy of what they need, whose _output holds kubectl. The server answers over
# TLS on PORT of loopback and takes the token admin-token. OUT gets a line for each
# assert, "FUNCTION FILE:LINE ok|fail", and one for each test function with the seconds
# that it took, "FUNCTION took N". OUT.log has all that they print, with what an assert
# that fails says. SHARD is N/M: the functions whose number is N modulo M, or names; the
# others are left out.
#
# Nothing of theirs is edited: their functions are wrapped here after they were read, and
# a command that fails ends no test function, so that each assert is counted.
TREE=$1 PORT=$2 OUT=$3 SHARD=$4
cd "$TREE" || exit 1
: >"$OUT"
exec >"$OUT.log" 2>&1 </dev/null

export TMPDIR=$OUT.tmp TERM=dumb
mkdir -p "$TMPDIR"
# Where they would begin a server or a build.
# Their kubectl and the server need not be of one version.
export SECURE_API_PORT=$PORT ALLOW_SKEW=1
make() { :; }
. hack/lib/init.sh
. hack/lib/test.sh
. test/cmd/legacy-script.sh
trap - ERR
builtin set +o errexit +o nounset +o errtrace
# Nothing that fails, and no variable that is not set, ends a function.
set()
{
	case "$*" in
	"-o errexit" | "+o errexit" | "-o nounset" | "+o nounset" | -e) ;;
	*) builtin set "$@" ;;
	esac
}
kube::etcd::start() { :; }
kube::etcd::cleanup() { :; }
# What an assert waits for comes soon, or not at all: many looks, not long ones.
sleep()
{
	case ${FUNCNAME[1]} in
	kube::test::object_assert) command sleep "$((j > 3 ? 1 : 0)).2" ;;
	kube::util::non_native_resources) command sleep 0.2 ;;
	*) command sleep "$@" ;;
	esac
}

FUNCTION=main
ASSERTING=
# asserted COMMAND...: runs the assert as it was, and says how it ended. Asserts that use
# another one count once.
asserted()
{
	local rc key at=1
	[ -z "$ASSERTING" ] || { "$@"; return; }
	ASSERTING=1
	"$@"
	rc=$?
	ASSERTING=
	while [[ ${BASH_SOURCE[at]} == */hack/lib/test.sh || ${FUNCNAME[at]} == kube::test::* ]]; do at=$((at + 1)); done
	# A condition of a loop is no assert.
	sed -n "${BASH_LINENO[at - 1]}p" "${BASH_SOURCE[at]}" | grep -q '^ *if ' && return "$rc"
	# What stands between the functions is run by each shard, and counted by one.
	[ "$FUNCTION" != main ] || mine main 0 || return "$rc"
	key="$FUNCTION ${BASH_SOURCE[at]##*/}:${BASH_LINENO[at - 1]}"
	if [ "$rc" -eq 0 ]; then
		echo "$key ok" >>"$OUT"
	else
		echo "$key fail" >>"$OUT"
		echo "== $key failed"
	fi
	return "$rc"
}

for assert in get_object_assert wait_object_assert get_object_jsonpath_assert describe_object_assert \
	describe_object_events_assert describe_resource_assert describe_resource_events_assert \
	if_sort_by_has_correct_order if_has_string if_has_not_string if_empty_string version::diff_assert; do
	eval "theirs::$(declare -f "kube::test::$assert")"
	eval "kube::test::$assert() { asserted theirs::kube::test::$assert \"\$@\"; }"
done

NUMBER=0
# mine NAME NUMBER
mine()
{
	case $SHARD in
	*/*) [ $(($2 % ${SHARD#*/})) -eq "${SHARD%/*}" ] ;;
	*) [[ " $SHARD " == *" $1 "* ]] ;;
	esac
}

# In a shell of its own, as theirs: what hangs is ended after some minutes.
record_command()
{
	local pid at=$SECONDS name=${1#run_}
	NUMBER=$((NUMBER + 1))
	name=${name%_tests}
	mine "$name" "$NUMBER" || return 0
	echo "== $name"
	(FUNCTION=$name; "$@") &
	pid=$!
	while kill -0 "$pid" 2>/dev/null && [ $((SECONDS - at)) -lt 900 ]; do command sleep 0.2; done
	kill -0 "$pid" 2>/dev/null && { echo "$name endless -" >>"$OUT"; pkill -P "$pid"; kill "$pid"; }
	wait "$pid" 2>/dev/null
	echo "$name took $((SECONDS - at))" >>"$OUT"
}

# The one that they call without it.
sed 's/^run_recursive_resources_tests()/run_recursive_resources()/' test/cmd/generic-resources.sh >"$TMPDIR/generic-resources.sh"
. "$TMPDIR/generic-resources.sh"
run_recursive_resources_tests() { record_command run_recursive_resources; }

setup
kubectl create -f - <<<'{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "127.0.0.1"}, "status": {"capacity": {"memory": "1Gi"}}}'
export SUPPORTED_RESOURCES=("*")
runTests
echo "main took $SECONDS" >>"$OUT"
