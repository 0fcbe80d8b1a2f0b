#!lua flags=allow-oom
-- takeoutcampaign: puts a damaged campaign on the dead list, with the reason, and isolates its remaining data.
-- Invariant: the reason is on the dead list before the campaign leaves the other lists. Remaining references to the
-- campaign lead nowhere, and workers drop them when they find them.
-- KEYS 1 campaign, 2 its new name, 3 open slices, 4 running campaigns, 5 schedule, 6 ended campaigns, 7 all campaigns,
--      8 dead list (a stream), 9 changes
-- ARGV 1 id, 2 reason, 3 hint, 4 entries kept on the dead list, 5 bytes of the job that are kept, 6 seconds until the
--      renamed campaign expires
-- Returns 1, or 0 if there is no such campaign
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local job = redis.pcall('HGET', KEYS[1], 'job')
if type(job) ~= 'string' then job = '' end
redis.call('XADD', KEYS[8], 'MAXLEN', '~', ARGV[4], '*', 'reason', ARGV[2], 'hint', ARGV[3], 'id', ARGV[1],
  'size', #job, 'job', job:sub(1, tonumber(ARGV[5])))
redis.pcall('XADD', KEYS[9], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', 'failed', 'reason', ARGV[2])
redis.call('RENAME', KEYS[1], KEYS[2])
redis.call('EXPIRE', KEYS[2], ARGV[6])
redis.call('UNLINK', KEYS[3])
redis.pcall('SREM', KEYS[4], ARGV[1])
for i = 5, 7 do redis.pcall('ZREM', KEYS[i], ARGV[1]) end
return 1
