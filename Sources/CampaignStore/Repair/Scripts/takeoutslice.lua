#!lua flags=allow-oom
-- takeoutslice: puts a damaged slice on the dead list with the reason, only once, even if several workers find it.
-- `finish` then counts the slice, so its campaign continues and ends without it.
-- Invariant: the reason is on the dead list before the slice leaves the other lists.
-- KEYS 1 campaign, 2 finished slices, 3 dead list (a stream)
-- ARGV 1 partition
--      2 id of the campaign
--      3 reason
--      4 hint
--      5 maximum number of entries on the dead list
--      6 maximum number of bytes of the job to store
-- Returns 1, or 0 if the slice is finished or its campaign no longer exists
if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('GETBIT', KEYS[2], ARGV[1]) == 1 then return 0 end
local mark = 'out:' .. ARGV[1]
local campaign = redis.call('HMGET', KEYS[1], 'job', mark)
-- Another worker has already put the slice on the dead list. That worker is about to call `finish`, or it has died
-- before the call.
if campaign[2] then return 1 end
local job = campaign[1] or ''
redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[5], '*', 'reason', ARGV[3], 'hint', ARGV[4], 'id', ARGV[2],
  'size', #job, 'job', job:sub(1, tonumber(ARGV[6])))
redis.call('HSETNX', KEYS[1], 'reason', ARGV[3])
redis.call('HSET', KEYS[1], mark, 1)
return 1
