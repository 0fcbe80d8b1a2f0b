#!lua flags=allow-oom
-- replacejob: replaces the job of a campaign by the job without an erased user.
-- Invariant: the job is replaced only if it has not changed since it was read, so two erasures at the same time lose
-- nothing. The script does not create a record for an expired campaign. The digest of the job and all counters stay.
-- The script runs even if memory is full.
-- KEYS 1 campaign
-- ARGV 1 job as it was read, 2 new job
-- Returns 1, or 0 if the job has changed or no longer exists
if redis.call('HGET', KEYS[1], 'job') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'job', ARGV[2])
return 1
