#!lua
-- reserve: reserves an id for a job that a worker is taking in.
-- Invariant: an id names one job for 90 days. If a worker dies between this step and the activation, the id stays
-- reserved. Another worker can then activate the same job.
-- The script tests with `HLEN` whether the campaign exists, because `HLEN` raises an error if the key has another type.
-- `EXISTS` would mistake such a key for the campaign.
-- A job may have become invalid since it was written, for example because its send time has passed. The script refuses
-- such a job unless its id is known, and reserves nothing.
-- Earlier versions computed the digest from a canonical form that keeps default values. Such a digest stays valid.
-- KEYS 1 job: a digest, and ' activated' after the activation, 2 campaign
-- ARGV 1 canonical form of the job, 2 seconds an id is remembered, 3 canonical form of earlier versions ('' if it is
--      the same), 4 '1' to refuse the job unless it is known
-- Returns {'new' | 'duplicate' | 'conflict' | 'refused', digest of the job}
local digest = redis.sha1hex(ARGV[1])
local known = redis.call('GET', KEYS[1])
if known and ARGV[3] ~= '' and known:sub(1, 40) == redis.sha1hex(ARGV[3]) then digest = known:sub(1, 40) end
if known and known:sub(1, 40) ~= digest then return {'conflict', digest} end
if ARGV[4] == '1' and not known then return {'refused', digest} end
if known and #known > 40 or redis.call('HLEN', KEYS[2]) > 0 then return {'duplicate', digest} end
redis.call('SET', KEYS[1], digest, 'EX', ARGV[2])
return {'new', digest}
