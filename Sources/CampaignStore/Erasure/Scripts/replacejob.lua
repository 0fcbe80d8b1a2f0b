#!lua flags=allow-oom
-- replacejob: replaces the job of a campaign by the same job without an erased user.
-- Invariant: the job is replaced only if it has not changed since the caller read it. If two users are erased at the
-- same time, neither call can therefore undo the other. The script does not create a record for an expired campaign.
-- The digest of the job and all counters stay. The script also runs when Redis has no free memory.
-- KEYS 1 campaign
-- ARGV 1 job as the caller read it, 2 new job
-- Returns 1, or 0 if the job has changed or no longer exists
if redis.call('HGET', KEYS[1], 'job') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'job', ARGV[2])
return 1
