#!lua flags=allow-oom
-- finish: adds a closed slice's counters to its campaign's totals, and ends the campaign with its last slice.
-- Invariant: a slice counts once, however often this runs: the bit says whether it did. A partition that was left out when
-- the campaign began has the bit too; a slice that ends there all the same counts as well: somebody told of it what
-- Redis had forgotten, while the campaign began anew.
-- A campaign has failed when pushes of it were refused (19 badToken, 20 wrongTopic, 21 rejected, 22 failed) and none
-- was accepted (16), or may have been (24). So has one of which a slice was taken out, whatever became of the others.
-- A slice that a worker holds is not open, so the list of those, which may be long, is not searched for it; should it
-- be there all the same, whoever takes it finds it closed, and comes here once more.
-- The end is noted until everything of the campaign has its expiry, so that a worker that dies in between leaves no
-- keys for ever.
-- KEYS 1 campaign, 2 finished slices, 3 processing list, 4 lane, 5 open slices, 6 parked, 7 ended campaigns,
--      8 running campaigns, 9 changes
-- ARGV 1 partition, 2 id, 3... counters and their values
-- Returns {1 when this call ended the campaign else 0, state}
local reference = ARGV[1] .. ':' .. ARGV[2]
local was_held = redis.call('LREM', KEYS[3], 0, reference) > 0
redis.call('ZREM', KEYS[6], reference)
local campaign = redis.call('HMGET', KEYS[1], 'state', 'of')
local state = campaign[1]
if not state then return {0, 'gone'} end
if not was_held then redis.call('LREM', KEYS[5], 0, ARGV[1]) end
if redis.call('SETBIT', KEYS[2], ARGV[1], 1) == 1 and not add_slice(KEYS[1], ARGV[1]) then return {0, state} end
for i = 3, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
local done = redis.call('HINCRBY', KEYS[1], 'finished', 1)
if done < tonumber(redis.call('HGET', KEYS[1], 'slices')) then return {0, state} end
if state ~= 'cancelled' then
  local outcomes = redis.call('HMGET', KEYS[1], '16', '24', '19', '20', '21', '22', 'takenOut')
  for i = 1, 7 do outcomes[i] = tonumber(outcomes[i] or 0) end
  local refused = outcomes[3] + outcomes[4] + outcomes[5] + outcomes[6]
  local hasFailed = outcomes[7] > 0 or refused > 0 and outcomes[1] + outcomes[2] == 0
  state = hasFailed and 'failed' or 'completed'
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'state', state, 'finishedAt', now)
-- `endpart` reports the end of a part together with that of its campaign. `control` has reported a cancelled campaign.
if not campaign[2] and state ~= campaign[1] then
  redis.pcall('XADD', KEYS[9], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[2], 'state', state)
end
redis.call('LREM', KEYS[4], 0, ARGV[2])
redis.call('DEL', KEYS[5])
redis.call('ZADD', KEYS[7], now, ARGV[2])
redis.call('SREM', KEYS[8], ARGV[2])
return {1, state}
