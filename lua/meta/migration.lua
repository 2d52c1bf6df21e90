-- SPDX-License-Identifier: Apache-2.0
--
-- What neap offers to policies of the kinds migration and evictor, for editors (LuaCATS)
-- and, as doc/lua-api.md, for people.
---@meta
-- luacheck: ignore
error("a meta file is never run")

-- # Migration
-- PodMigrationJobs: which goes first, and how a pod leaves its node.

--- The pod of a job that waits.
---@class neap.MigrationPod
---@field namespace string its namespace
---@field name string its name
---@field class string priority class: free, batch, mid, prod
---@field priority integer 0 without one
---@field kube_qos string BestEffort, Burstable, Guaranteed
---@field qos string BE, LS, LSR, LSE (also for SYSTEM)
---@field deletion_cost integer annotation controller.kubernetes.io/pod-deletion-cost [0]
---@field eviction_cost integer annotation scheduling.koordinator.sh/eviction-cost [0]
---@field created_unix integer when it was made, seconds since 1970

--- A PodMigrationJob that waits for arbitration.
---@class neap.MigrationJob
---@field name string its name
---@field created_unix integer when it was made, seconds since 1970
---@field pod neap.MigrationPod|nil nil when the pod is gone
---@field batch string|nil uid of the Job of Kubernetes that the pod is of
---@field siblings integer how many pods of that Job are being migrated

--- An example of a policy of kind migration.
---@class neap.MigrationExample
---@field name string what it shows
---@field params? table parameters, over the defaults
---@field jobs neap.MigrationJob[] those that wait
---@field want string[] their names in order

--- The table of a policy of kind migration.
---@class neap.MigrationPolicy
---@field api 1 version of this interface
---@field kind "migration"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of a-z, 0-9 and _
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field needs? nil this kind has none
---@field order fun(ctx: neap.Ctx, jobs: neap.MigrationJob[]): neap.MigrationJob[] the same jobs, the first to go first
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.MigrationExample[] run at every load

--- A merge patch of a pod's labels and annotations; false takes one away.
---@class neap.PodPatch
---@field metadata table { labels = { ... }, annotations = { ... } }

--- For somebody else's controller: what tells it to move the pod, and what takes that
--- back when the migration fails.
---@class neap.LeavePatch
---@field patch neap.PodPatch what is set on the pod
---@field take_back neap.PodPatch what undoes it

--- An example of a policy of kind evictor.
---@class neap.EvictorExample
---@field name string what it shows
---@field params? table parameters, over the defaults
---@field pod table the pod, as it is stored
---@field job? table the PodMigrationJob, as it is stored
---@field want any "eviction", "deletion", a neap.LeavePatch, or { why = "..." }

--- The table of a policy of kind evictor.
---@class neap.EvictorPolicy
---@field api 1 version of this interface
---@field kind "evictor"
---@field name string 1 to 47 of a-z, 0-9 and -, not beginning with -
---@field doc? string what the policy does
---@field params? table<string, neap.Param> at most 64, by names of a-z, 0-9 and _
---@field valid? fun(params: table<string, any>): neap.Objection[]|string|nil what is wrong with the parameters together; 5 ms
---@field needs? nil this kind has none
---@field leave fun(ctx: neap.Ctx, pod: table, job: table): "eviction"|"deletion"|neap.LeavePatch|false, string? how it leaves, or false and why not now
---@field rules? table<string, fun(ctx: neap.Ctx, input: any): any> pure parts, for tests only
---@field examples? neap.EvictorExample[] run at every load
