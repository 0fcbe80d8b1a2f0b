#!lua
-- reserve: reserves an id for a job that a worker is taking in.
-- The digest of a job is the SHA-1 of its canonical form, which is the same for all jobs with the same content.
-- Invariant: an id names one job for 90 days. If a worker dies between this step and the activation, the id stays
-- reserved. Another worker can then activate the same job.
-- The script tests with `HLEN` whether the campaign exists, because `HLEN` raises an error if the key has another type.
-- `EXISTS` would mistake such a key for the campaign.
-- A job may have become invalid after it was submitted, for example because its send time has passed. The caller then
-- sets ARGV 4: the script refuses the job and reserves nothing, unless the id is already reserved.
-- Earlier versions of Carillon computed the digest from a canonical form with default values. Such a digest stays
-- valid.
-- KEYS 1 job, 2 campaign
-- ARGV 1 canonical form of the job
--      2 seconds for which the id stays reserved
--      3 canonical form as earlier versions of Carillon wrote it ('' if it is the same)
--      4 '1' to refuse the job if its id is not reserved
-- Returns two values: a word, and the digest of the job. The word is:
--      'new' if the id is now reserved for the job, or was reserved for it and the job is not activated
--      'duplicate' if the job was activated before
--      'conflict' if another job has the id
--      'refused' because of ARGV 4
local digest = redis.sha1hex(ARGV[1])
local known = redis.call('GET', KEYS[1])
if known and ARGV[3] ~= '' and known:sub(1, 40) == redis.sha1hex(ARGV[3]) then digest = known:sub(1, 40) end
if known and known:sub(1, 40) ~= digest then return {'conflict', digest} end
if ARGV[4] == '1' and not known then return {'refused', digest} end
if known and #known > 40 or redis.call('HLEN', KEYS[2]) > 0 then return {'duplicate', digest} end
redis.call('SET', KEYS[1], digest, 'EX', ARGV[2])
return {'new', digest}
