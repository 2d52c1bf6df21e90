-- SPDX-License-Identifier: Apache-2.0
-- Policies are checked against what the sandbox gives them, and nothing else.
std = "lua54"
max_line_length = 100
cache = false

-- The globals that the sandbox takes away are not there for a policy either.
not_globals = {
  "collectgarbage", "dofile", "load", "loadfile", "require", "package", "io", "os", "debug",
  "coroutine", "print",
}
read_globals = { "neap" }
unused_args = false -- tick(ctx, node): a policy may need only one of them

-- Meta files declare and are never run: every name is set and none is used.
files["lua/meta"] = { ignore = { "1..", "2..", "3..", "6.." } }
-- Helpers of the runtime build the globals that policies read.
files["lua/runtime"] = { globals = { "neap" } }
