#!lua flags=allow-oom
-- expire: ends the lease of a slice whose owner's process has died.
-- Invariant: the claim stays until another worker takes the slice. If the owner is alive after all, it still records
-- its outcomes, and it is granted more only until then. Pushes that it sent in the meantime may be sent twice: at most
-- its window.
-- KEYS 1 slice
-- ARGV 1 worker that has died
-- Returns 1, or 0 if the worker does not own the slice
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'lease', 0)
return 1
