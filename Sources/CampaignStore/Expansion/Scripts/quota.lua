#!lua
-- quota: records the quotas of a campaign with a `limit` of users. A quota is the maximum number of users that a slice
-- may select in its partition.
-- Invariant: the quotas are recorded once, whichever worker calls the script, and however often. The first quotas stay,
-- so all slices use the same quotas. The script then removes the campaign's ranking (see `rank`).
-- KEYS 1 campaign, 2 ranking
-- ARGV 1 quotas, 32 bits for each partition
-- Returns the recorded quotas, or false if there is no such campaign
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('HSETNX', KEYS[1], 'quotas', ARGV[1])
redis.call('UNLINK', KEYS[2])
return redis.call('HGET', KEYS[1], 'quotas')
