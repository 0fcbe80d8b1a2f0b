#!lua flags=allow-oom
-- replacejob: replaces the job of a campaign by the job without an erased user.
-- Invariant: the job is replaced only if it is as it was read: two erasures at once lose nothing. A campaign that has
-- expired stays away. Neither the digest of the job nor any counter changes. It runs when memory is full.
-- KEYS 1 campaign
-- ARGV 1 job as it was read, 2 new job
-- Returns 1, or 0 when the job has changed or is gone
if redis.call('HGET', KEYS[1], 'job') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'job', ARGV[2])
return 1
