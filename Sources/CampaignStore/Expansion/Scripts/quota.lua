#!lua
-- quota: says how many users each partition takes of a campaign with a limit.
-- Invariant: it is said once, whoever comes to it and however often: what the first has found stands, so all slices keep to
-- one limit. What it was found from is not needed any more.
-- KEYS 1 campaign, 2 ranking
-- ARGV 1 quotas
-- Returns those that stand, or false when there is no such campaign
if redis.call('EXISTS', KEYS[1]) == 0 then return false end
redis.call('HSETNX', KEYS[1], 'quotas', ARGV[1])
redis.call('UNLINK', KEYS[2])
return redis.call('HGET', KEYS[1], 'quotas')
