#!lua flags=allow-oom
-- unclaim: releases a claim before its lease expires, so that the next worker need not wait.
-- Invariant: only the owner of a claim can release it. If the owner searched for a poison target, which kills each
-- worker that sends it, the targets that it sent last did not kill it (see `bisect`). The script removes the record of
-- these targets. If the owner has not sealed its lists of targets, the script also removes these lists. The next owner
-- could not find them, because their keys contain the id of the released claim.
-- KEYS 1 slice, 2... unsealed lists of the claim
-- ARGV 1 claim id
-- Returns 1, or 0 if the slice has another claim
if redis.call('HGET', KEYS[1], 'claim') ~= ARGV[1] then return 0 end
redis.call('UNLINK', unpack(KEYS, 2))
redis.call('HDEL', KEYS[1], 'claim', 'lease', 'owner', 'bisected')
return 1
