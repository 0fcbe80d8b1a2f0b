#!lua flags=no-writes
-- backlog: counts the changes that webhooks have not delivered yet.
-- Invariant: the script writes nothing. The stream of changes is bounded, and so is each count.
-- KEYS 1 changes
-- ARGV for each webhook the id of the last change that it has delivered
-- Returns for each webhook the number of later changes, at most 1,001
local counts = {}
for i = 1, #ARGV do counts[i] = #redis.call('XRANGE', KEYS[1], '(' .. ARGV[i], '+', 'COUNT', 1001) end
return counts
