#!lua flags=allow-oom
-- takeoutcampaign: puts a damaged campaign on the dead list, with the reason, and isolates its data: renames the
-- campaign's key and removes the campaign from the lists in KEYS 4 to 7.
-- Invariant: the reason is on the dead list before the campaign leaves these lists. If the id of the campaign remains
-- in another list, workers drop it when they find no campaign with this id.
-- KEYS 1 campaign, 2 new name of the campaign's key, 3 open slices, 4 running campaigns, 5 schedule, 6 ended campaigns,
--      7 all campaigns, 8 dead list (a stream), 9 changes
-- ARGV 1 id of the campaign
--      2 reason
--      3 hint
--      4 maximum number of entries on the dead list
--      5 maximum number of bytes of the job to store
--      6 seconds until the renamed key expires
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
