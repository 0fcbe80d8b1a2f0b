#!lua flags=allow-oom
-- trim: removes delivered entries from an outbox.
-- Invariant: the script removes an entry only after it was delivered. If two workers empty the same outbox, the second
-- one finds other entries at these places, and the script removes nothing.
-- KEYS 1 outbox
-- ARGV 1 number of entries, 2 first entry, 3 last entry
-- Returns 1, or 0 if the entries had left already
local count = tonumber(ARGV[1])
if redis.call('LINDEX', KEYS[1], 0) ~= ARGV[2] or redis.call('LINDEX', KEYS[1], count - 1) ~= ARGV[3] then return 0 end
redis.call('LTRIM', KEYS[1], count, -1)
return 1
