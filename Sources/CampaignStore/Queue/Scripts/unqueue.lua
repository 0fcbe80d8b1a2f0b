#!lua flags=allow-oom
-- unqueue: removes a job from the producers' list before a worker takes it.
-- Invariant: if a worker has already taken the job, the script changes nothing. If an id is reserved for exactly this
-- job and no campaign has it, the script releases the id.
-- KEYS 1 producers' list, 2 job
-- ARGV 1 job as written, 2 its canonical form, 3 canonical form of earlier versions, which keeps default values ('' if
--      it is the same)
-- Returns the number of removed copies
local count = redis.call('LREM', KEYS[1], 0, ARGV[1])
local known = count > 0 and redis.call('GET', KEYS[2])
if known and (known == redis.sha1hex(ARGV[2]) or ARGV[3] ~= '' and known == redis.sha1hex(ARGV[3])) then
  redis.call('DEL', KEYS[2])
end
return count
