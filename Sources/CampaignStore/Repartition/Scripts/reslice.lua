#!lua
-- reslice: replaces the slices of a campaign that has not begun, because the number of partitions changes.
-- Invariant: a campaign that has begun keeps its slices.
-- KEYS 1 campaign, 2 open slices, 3 finished slices, 4 running campaigns
-- ARGV 1 id of the campaign, 2 new number of partitions of the store, 3 bitmap of the partitions without a slice (''
--      for none), 4... the partitions with a slice
-- Returns 1, or 0 if the campaign has begun or no longer exists
local campaign = redis.call('HMGET', KEYS[1], 'state', 'gated', 'parts')
local state = campaign[1]
if state ~= 'scheduled' and state ~= 'paused' and state ~= 'waiting' then return 0 end
if redis.call('SISMEMBER', KEYS[4], ARGV[1]) == 1 then return 0 end
redis.call('DEL', KEYS[2], KEYS[3])
if campaign[3] then
  redis.call('HSET', KEYS[1], 'partitions', ARGV[2])
  return 1
end
-- A part that waits at a gate has no open slices yet.
local last = campaign[2] and 3 or #ARGV
for i = 4, last, 500 do redis.call('RPUSH', KEYS[2], unpack(ARGV, i, math.min(i + 499, last))) end
redis.call('HSET', KEYS[1], 'partitions', ARGV[2], 'slices', #ARGV - 3)
if ARGV[3] == '' then
  redis.call('HDEL', KEYS[1], 'absent')
else
  redis.call('SET', KEYS[3], ARGV[3])
  redis.call('HSET', KEYS[1], 'absent', ARGV[3])
end
return 1
