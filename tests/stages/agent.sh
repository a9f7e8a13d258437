#!/bin/sh
# agent.sh: the guest agent alone, with a small host and made-up kernels, outside of any sandbox
. "$root/tests/stages/lib.sh"
test=$root/tests/agent/test_agent.py agent=$build/gcc/lib/guest/agent-$(uname -m)
if [ ! -f "$test" ]; then
    fail agent 'tests/agent/test_agent.py is not there'
elif [ ! -x "$agent" ]; then
    fail agent "the agent was not built: $agent"
else
    counted agent sh -c '"$1" "$2" "$3" >"$4" 2>&1; status=$?; sed "s/^skip  *\([^ ]*\)  */SKIP \1: /" "$4"; exit $status' agent "$python" "$test" "$agent" "$logs/agent-tests.log"
fi
finish
