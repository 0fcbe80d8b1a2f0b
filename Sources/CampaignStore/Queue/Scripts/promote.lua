#!lua flags=allow-oom
-- promote: begins a scheduled campaign, or a scheduled part of a campaign, whose time has come.
-- Invariant: a campaign begins once, whichever worker calls the script, and however often. Only Redis' clock counts.
-- The schedule contains only scheduled campaigns and parts. If the campaign or part in ARGV 1 does not exist, has
-- begun, is paused or is cancelled, the script removes it from the schedule. If its time has not come and it is missing
-- in the schedule, the script adds it.
-- During a repartition of the store, or if its number of partitions differs from ARGV 2, nothing begins. This script
-- does not begin a recurring campaign (see `repeat`). A campaign with parts begins with its first part.
-- KEYS 1 campaign or part, 2 lane, 3 schedule, 4 running campaigns, 5 open slices, 6 wake channel, 7 store, 8 changes,
--      9 the campaign of a part, or the campaign itself if ARGV 1 is not a part
-- ARGV 1 id of the campaign or part, 2 number of partitions of the store as the worker knows it, 3 id of the campaign
--      in KEYS 9
-- Returns 1 if this call began the campaign or part, else 0
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'repeat', 'parts')
if campaign[1] ~= 'scheduled' or campaign[4] then
  redis.call('ZREM', KEYS[3], ARGV[1])
  return 0
end
local time = redis.call('TIME')
local due = tonumber(campaign[2] or 0)
if due > time[1] * 1000 + math.floor(time[2] / 1000) then
  if tonumber(redis.call('ZSCORE', KEYS[3], ARGV[1]) or 0) ~= due then redis.call('ZADD', KEYS[3], due, ARGV[1]) end
  return 0
end
if campaign[3] then return 0 end
local store = redis.call('HMGET', KEYS[7], 'partitions', 'nextPartitions')
if store[2] or store[1] and store[1] ~= ARGV[2] then return 0 end
-- If a key has the wrong type, reading it fails here, before the script writes anything.
redis.call('LLEN', KEYS[2])
redis.call('SCARD', KEYS[4])
redis.call('HSET', KEYS[1], 'state', 'active')
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[4], ARGV[1])
if ARGV[1] == ARGV[3] or redis.call('HGET', KEYS[9], 'state') == 'scheduled' then
  redis.call('HSET', KEYS[9], 'state', 'active')
  redis.call('SADD', KEYS[4], ARGV[3])
  redis.pcall('XADD', KEYS[8], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[3], 'state', 'active')
end
redis.call('PUBLISH', KEYS[6], 'slices ' .. redis.call('LLEN', KEYS[5]))
return 1
