#!lua
-- submit: puts a job on the intake list unless its id is taken.
-- Keeps: an id names one job for 90 days; the same job again changes nothing.
-- KEYS 1 job: a digest, and ' activated' once it is, 2 campaign, 3 intake list
-- ARGV 1 job as written, 2 job without white space, 3 seconds an id is remembered
-- Returns 'new' | 'duplicate' | 'conflict'
local digest = redis.sha1hex(ARGV[2])
local known = redis.call('GET', KEYS[1])
if known and known:sub(1, 40) ~= digest then return 'conflict' end
if known or redis.call('EXISTS', KEYS[2]) == 1 then return 'duplicate' end
redis.call('SET', KEYS[1], digest, 'EX', ARGV[3])
redis.call('LPUSH', KEYS[3], ARGV[1])
return 'new'
