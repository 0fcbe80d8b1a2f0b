#!lua flags=allow-oom
-- unclaim: ends a claim, so that the next worker need not wait for the lease to run out.
-- Invariant: nobody but the owner can end a claim. The targets that it bisected have not killed it.
-- KEYS 1 slice
-- ARGV 1 claim id
-- Returns 1, or 0 when the claim was stale
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], 'claim', 'lease', 'owner', 'bisected')
return 1
