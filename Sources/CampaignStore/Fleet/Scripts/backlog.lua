#!lua flags=no-writes
-- backlog: says how many changes webhooks have not been told of.
-- Invariant: it writes nothing; the stream of changes is bounded, and so is this.
-- KEYS 1 changes
-- ARGV the ids of the last change that each was told of
-- Returns a count for each
local counts = {}
for i = 1, #ARGV do counts[i] = #redis.call('XRANGE', KEYS[1], '(' .. ARGV[i], '+', 'COUNT', 1001) end
return counts
