#!lua flags=allow-oom
-- trim: removes delivered entries from the beginning of an outbox.
-- Invariant: a worker calls the script only after it has delivered the notices of these entries to the owner index and
-- the feedback list. If two workers empty the same outbox, the second one finds other entries at these places, and the
-- script removes nothing.
-- KEYS 1 outbox
-- ARGV 1 number of delivered entries, 2 the first of them, 3 the last of them
-- Returns 1, or 0 if the entries have already been removed
local count = tonumber(ARGV[1])
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[2] or redis.call('LINDEX', KEYS[1], count - 1) ~= ARGV[3] then return 0 end
redis.call('LTRIM', KEYS[1], count, -1)
return 1
