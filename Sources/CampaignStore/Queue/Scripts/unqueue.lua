#!lua flags=allow-oom
-- unqueue: takes a job off the producers' list before a worker has it.
-- Invariant: whoever takes the job first has it: of one that is not on the list any more nothing changes. An id that was
-- taken for this very job, and that no campaign has, is free again.
-- KEYS 1 producers' list, 2 job
-- ARGV 1 job as written, 2 what it means, in its canonical form, 3 the canonical form with its defaults, as
--      earlier versions knew it ('' where it is the same)
-- Returns how many copies were taken off
local count = redis.call('LREM', KEYS[1], 0, ARGV[1])
local known = count > 0 and redis.call('GET', KEYS[2])
if known and (known == redis.sha1hex(ARGV[2]) or ARGV[3] ~= '' and known == redis.sha1hex(ARGV[3])) then
  redis.call('DEL', KEYS[2])
end
return count
