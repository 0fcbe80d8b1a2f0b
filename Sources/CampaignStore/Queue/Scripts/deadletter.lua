#!lua flags=allow-oom
-- deadletter: moves a job that can't be run to the dead list, with the reason.
-- Invariant: a job is always on the worker's list or on the dead list. The dead list is bounded, and its oldest entry
-- is removed first.
-- An id that was reserved for exactly this job is released, so that the job can be submitted again. If the key of the
-- id has any other value, even one of another type, it stays.
-- KEYS 1 dead list (a stream), 2 worker's intake, 3 attempts to take in jobs (`beginjob`), 4 job, if it has a readable
--      id
-- ARGV 1 job as the worker took it from the list, 2 reason, 3 hint, 4 entries kept, 5 bytes of the job that are kept, 6
--      canonical form of the job, 7 id ('' if not readable), 8 user whose device the job names ('' for none), 9
--      canonical form of earlier versions, which keeps default values ('' if it is the same)
-- The field `size` shows whether the job was cut.
-- Returns the entry's key
local name = redis.sha1hex(ARGV[1])
redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('HDEL', KEYS[3], name, name .. ':failures')
local known = KEYS[4] and redis.pcall('GET', KEYS[4])
if known and (known == redis.sha1hex(ARGV[6]) or ARGV[9] ~= '' and known == redis.sha1hex(ARGV[9])) then
  redis.call('DEL', KEYS[4])
end
local fields = {'reason', ARGV[2], 'hint', ARGV[3], 'id', ARGV[7], 'size', #ARGV[1], 'job',
  ARGV[1]:sub(1, tonumber(ARGV[5]))}
if ARGV[8] ~= '' then
  fields[#fields + 1] = 'user'
  fields[#fields + 1] = ARGV[8]
end
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', unpack(fields))
