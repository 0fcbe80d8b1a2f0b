#!lua flags=allow-oom
-- unqueue: removes a job from the producers' list before a worker takes it.
-- Invariant: a worker that takes the job first keeps it: nothing changes for a job that is no longer on the list. An id
-- that was reserved for exactly this job, and that no campaign has, is released.
-- KEYS 1 producers' list, 2 job
-- ARGV 1 job as written, 2 its canonical form, 3 canonical form with its defaults, as in earlier versions ('' if it is
--      the same)
-- Returns the number of removed copies
local count = redis.call('LREM', KEYS[1], 0, ARGV[1])
local known = count > 0 and redis.call('GET', KEYS[2])
if known and (known == redis.sha1hex(ARGV[2]) or ARGV[3] ~= '' and known == redis.sha1hex(ARGV[3])) then
  redis.call('DEL', KEYS[2])
end
return count
