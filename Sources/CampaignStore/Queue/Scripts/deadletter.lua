#!lua flags=allow-oom
-- deadletter: moves a job that can't be run from the worker's intake list to the dead list, with the reason.
-- Invariant: a job is always on the intake list or on the dead list. The dead list is bounded, and its oldest entry is
-- removed first.
-- If the job's id is reserved for exactly this job, the script releases the id, so that the job can be submitted again.
-- If the id's key `job:ID` has any other value or type, the key stays.
-- KEYS 1 dead list (a stream), 2 intake list of the worker, 3 attempts to take in jobs (see `beginjob`), 4 job, only if
--      the id is readable
-- ARGV 1 job as the worker took it from the list
--      2 reason
--      3 hint
--      4 maximum number of entries on the dead list
--      5 maximum number of bytes of the job to store
--      6 canonical form of the job (see `reserve`)
--      7 id ('' if it is not readable)
--      8 user whose device the job names ('' for none)
--      9 canonical form as earlier versions of Carillon wrote it, with default values ('' if it is the same)
-- The field `size` of the entry has the full size of the job, so it shows whether the job was cut.
-- Returns the key of the entry in the stream
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
