#!lua flags=allow-oom
-- unqueue: takes a job off the producers' list before a worker has it.
-- Keeps: whoever takes the job first has it: of one that is not on the list any more nothing changes. An id that was
-- taken for this very job, and that no campaign has, is free again.
-- KEYS 1 producers' list, 2 job
-- ARGV 1 job as written, 2 job in its canonical form
-- Returns how many copies were taken off
local count = redis.call('LREM', KEYS[1], 0, ARGV[1])
if count > 0 and redis.call('GET', KEYS[2]) == redis.sha1hex(ARGV[2]) then redis.call('DEL', KEYS[2]) end
return count
