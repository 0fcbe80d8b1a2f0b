#!lua flags=no-writes
-- backlog: counts the changes that webhooks have not delivered yet.
-- Invariant: writes nothing. The stream of changes is bounded, and so is each count.
-- KEYS 1 changes
-- ARGV the id of the last delivered change of each webhook
-- Returns a count for each
local counts = {}
for i = 1, #ARGV do counts[i] = #redis.call('XRANGE', KEYS[1], '(' .. ARGV[i], '+', 'COUNT', 1001) end
return counts
