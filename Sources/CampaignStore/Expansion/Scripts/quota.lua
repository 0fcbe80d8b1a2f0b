#!lua
-- quota: records how many users each partition may select at most, for a campaign with a limit.
-- Invariant: the quotas are recorded once, whichever worker calls the script, and however often. The first quotas stay,
-- so all slices use the same limit. The script then removes the ranking (see `rank`).
-- KEYS 1 campaign, 2 ranking
-- ARGV 1 quotas
-- Returns the recorded quotas, or false if there is no such campaign
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('HSETNX', KEYS[1], 'quotas', ARGV[1])
redis.call('UNLINK', KEYS[2])
return redis.call('HGET', KEYS[1], 'quotas')
