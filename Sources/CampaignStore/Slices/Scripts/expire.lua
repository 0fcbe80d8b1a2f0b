#!lua flags=allow-oom
-- expire: ends the lease of a slice because the process of its owner has died.
-- Invariant: the claim stays valid until another worker claims the slice. If the owner is alive after all, it can
-- record outcomes at any time. It gets grants only until another worker claims the slice. The other worker may then
-- repeat pushes whose answers the owner has not recorded: at most one window.
-- KEYS 1 slice
-- ARGV 1 worker that has died
-- Returns 1, or 0 if the worker does not own the slice
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'lease', 0)
return 1
