#!lua flags=allow-oom
-- expire: ends the lease of a slice whose owner's process has died.
-- Invariant: the claim stands until another takes the slice, so an owner that lives after all records what it has; it can
-- be granted more only until then. What it sent meanwhile may be sent twice: no more than its window.
-- KEYS 1 slice
-- ARGV 1 worker that has died
-- Returns 1, or 0 when the slice is not its own
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'lease', 0)
return 1
