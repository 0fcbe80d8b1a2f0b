#!lua flags=allow-oom
-- promote: begins a scheduled campaign whose time has come.
-- Keeps: it begins once, whoever calls this and however often; only Redis' clock counts. The schedule has the scheduled
-- campaigns and no others: what has gone, begun, or been paused or cancelled leaves it, what is missing comes back.
-- Partitions in which it can have nobody lose their slices with the beginning, before anybody could take one. Should
-- Redis have lost that it had begun, and a finished slice have been replayed, they keep them. While the store is held,
-- or when it has another number of partitions than the worker knows, nothing begins. What is repeated is not begun
-- itself (see `repeat`).
-- KEYS 1 campaign, 2 lane, 3 schedule, 4 running campaigns, 5 open slices, 6 finished slices,
--      7 wake channel, 8 store, 9 changes
-- ARGV 1 id, 2 number of partitions of the store as the worker knows it, 3 bitmap of the partitions that have no
--      slice from now on ('' to leave the slices as they are), 4 the segments that are rules and on which its audience
--      depends, 5... the other partitions
-- Returns 1 when this call began it, else 0
local campaign = redis.call('HMGET', KEYS[1], 'state', 'sendAt', 'repeat')
if campaign[1] ~= 'scheduled' then
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
local store = redis.call('HMGET', KEYS[8], 'partitions', 'nextPartitions')
if store[2] or store[1] and store[1] ~= ARGV[2] then return 0 end
if ARGV[3] ~= '' and redis.call('EXISTS', KEYS[6]) == 0 then
  redis.call('DEL', KEYS[5])
  for i = 5, #ARGV, 500 do redis.call('RPUSH', KEYS[5], unpack(ARGV, i, math.min(i + 499, #ARGV))) end
  redis.call('SET', KEYS[6], ARGV[3])
  redis.call('HSET', KEYS[1], 'slices', #ARGV - 4, 'absent', ARGV[3])
end
if ARGV[4] ~= '' and ARGV[4] ~= '{}' then redis.call('HSET', KEYS[1], 'definitions', ARGV[4]) end
redis.call('HSET', KEYS[1], 'state', 'active')
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('RPUSH', KEYS[2], ARGV[1])
redis.call('SADD', KEYS[4], ARGV[1])
redis.pcall('XADD', KEYS[9], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', 'active')
redis.call('PUBLISH', KEYS[7], 'slices ' .. redis.call('LLEN', KEYS[5]))
return 1
