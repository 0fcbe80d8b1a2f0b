#!lua flags=allow-oom
-- unqueue: removes a job from the producers' list before a worker takes it.
-- Invariant: if a worker has already taken the job, the script changes nothing. If the job's id is reserved for exactly
-- this job and the job is not activated, the script releases the id.
-- KEYS 1 producers' list, 2 job
-- ARGV 1 job as written, 2 canonical form of the job (see `reserve`), 3 canonical form as earlier versions of Carillon
--      wrote it, with default values ('' if it is the same)
-- Returns the number of removed copies of the job
local count = redis.call('LREM', KEYS[1], 0, ARGV[1])
local known = count > 0 and redis.call('GET', KEYS[2])
if known and (known == redis.sha1hex(ARGV[2]) or ARGV[3] ~= '' and known == redis.sha1hex(ARGV[3])) then
  redis.call('DEL', KEYS[2])
end
return count
