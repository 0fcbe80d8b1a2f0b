#!lua flags=allow-oom
-- unclaim: releases a claim before its lease expires, so that the next worker does not wait.
-- Invariant: only the claim's owner can release it. The owner is alive, so the targets of its search for a poison
-- target (`bisect`) have not killed it. The script removes the record of these targets. If the expansion has not ended,
-- the script also removes its unsealed lists. The next owner could not find them, because their keys contain the id of
-- the released claim.
-- KEYS 1 slice, 2... unsealed lists of the claim
-- ARGV 1 claim id
-- Returns 1, or 0 if the claim was stale
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
redis.call('UNLINK', unpack(KEYS, 2))
redis.call('HDEL', KEYS[1], 'claim', 'lease', 'owner', 'bisected')
return 1
