#!lua flags=allow-oom
-- opengate: begins the next stage of a campaign: puts its legs and companions on their lane or into the schedule.
-- Invariant: a stage begins once, in its turn, with one start time. Its expiration and its other times are computed
-- from the start time. If Redis has lost the beginning of a stage, a worker calls this script again with the same start
-- time (ARGV 8). No stage of a paused or cancelled campaign begins.
-- If a leg is paused, its part of the stage stays paused until the leg is resumed.
-- The winner of an A/B test is recorded once, and all later stages use it. If a person has overridden the verdict of
-- this gate, the override ends here, and the next gate decides again.
-- During a repartition of the store, or if its number of partitions differs from ARGV 7, nothing begins.
-- KEYS 1 campaign, 2 gates, 3 lane, 4 running campaigns, 5 schedule, 6 wake channel, 7 timeline, 8 store, 9... two keys
--      for each part that begins: part, open slices
-- ARGV 1 id of the campaign
--      2 place of the stage
--      3 start of the stage in ms since the epoch
--      4 time of the first check of the next gate, in ms since the epoch ('' after the last gate)
--      5 place of the winning variant ('' for none)
--      6 name of the winning variant
--      7 number of partitions of the store as the worker knows it
--      8 '1' to restore the beginning of a stage that Redis has lost
--      9 name of the stage
--      10 number of partitions in the list that follows
--      then these partitions, which have a slice
--      then for each part: id, send time in ms since the epoch ('' for immediately), expiration ('' for none), command
--        that adds its slices: 'RPUSH', or 'LPUSH' for the reverse order (see `activate`)
-- Returns 1, or 0 if nothing begins
local campaign = redis.call('HMGET', KEYS[1], 'state', 'stage', 'winner')
local is_again = ARGV[8] == '1'
if campaign[1] ~= 'active' and not (is_again and campaign[1] == 'paused') then return 0 end
local place, stage = tonumber(ARGV[2]), tonumber(campaign[2] or 0)
if stage >= place or stage + 1 < place and not is_again then return 0 end
local store = redis.call('HMGET', KEYS[8], 'partitions', 'nextPartitions')
if store[2] or store[1] and store[1] ~= ARGV[7] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local listed = tonumber(ARGV[10])
local at, opened = 11 + listed, 0
for i = 9, #KEYS, 2 do
  local id, due = ARGV[at], tonumber(ARGV[at + 1]) or 0
  if redis.call('HDEL', KEYS[i], 'gated') == 1 then
    local is_paused = campaign[1] == 'paused' or redis.call('HGET', KEYS[i], 'state') == 'paused'
    local state = is_paused and 'paused' or due > now and 'scheduled' or 'active'
    redis.call('HSET', KEYS[i], 'state', state, 'start', ARGV[3], 'expiration', ARGV[at + 2])
    if due > 0 then redis.call('HSET', KEYS[i], 'sendAt', due) end
    if ARGV[5] ~= '' then redis.call('HSET', KEYS[i], 'variant', ARGV[5]) end
    redis.call('DEL', KEYS[i + 1])
    for first = 11, 10 + listed, 500 do
      redis.call(ARGV[at + 3], KEYS[i + 1], unpack(ARGV, first, math.min(first + 499, 10 + listed)))
    end
    if state == 'scheduled' then redis.call('ZADD', KEYS[5], due, id) end
    if state == 'active' then
      redis.call('RPUSH', KEYS[3], id)
      redis.call('SADD', KEYS[4], id)
      opened = opened + listed
    end
  end
  at = at + 4
end
redis.call('HSET', KEYS[1], 'stage', place)
redis.call('HDEL', KEYS[1], 'verdict', 'overridden')
if ARGV[5] ~= '' and not campaign[3] then
  redis.call('HSET', KEYS[1], 'winner', ARGV[5], 'decidedAt', now, 'decidedBy', '')
  redis.call('RPUSH', KEYS[7], table.concat({now, 'decide', 'worker', '', ARGV[6]}, '\t'))
end
redis.call('RPUSH', KEYS[7], table.concat({now, 'open', 'worker', '', 'stage ' .. ARGV[9]}, '\t'))
redis.call('LTRIM', KEYS[7], -200, -1)
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
end
if opened > 0 then redis.call('PUBLISH', KEYS[6], 'slices ' .. opened) end
return 1
