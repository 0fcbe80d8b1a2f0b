#!lua flags=allow-oom
-- finish: adds a closed slice's counters to its campaign's totals, and ends the campaign with its last slice.
-- Invariant: a slice counts once, however often this script runs. The bitmap of finished slices has a bit for each
-- partition. A bit is set if the slice has counted, or if the partition has no slice.
-- Redis may lose a slice, and the campaign may then begin again without a slice in this partition. If a worker restores
-- the lost slice, the slice still counts, although the bit is set.
-- A campaign has failed if pushes were refused (19 badToken, 20 wrongTopic, 21 rejected, 22 failed) and no push was
-- accepted (16) or unknown (24). It has also failed if one of its slices was isolated.
-- A slice that a worker holds is in the processing list and not in the list of open slices. The script therefore
-- searches the open slices, which may be many, only if the slice is not in the processing list. If the slice is in both
-- lists, the next worker finds it closed and calls this script again.
-- The campaign stays in the list of ended campaigns until all of its keys have an expiry. If a worker dies before that,
-- another worker sets the missing expiries.
-- KEYS 1 campaign, 2 finished slices, 3 processing list of the worker, 4 lane, 5 open slices, 6 parked slices, 7 ended
--      campaigns, 8 running campaigns, 9 changes
-- ARGV 1 partition, 2 id of the campaign, 3... the slice's counters: name and value of each
-- Returns {1 if this call ended the campaign, else 0; state of the campaign, 'gone' if it no longer exists}
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
-- This script adds no entry to the stream of changes for a part, because `endpart` adds one for the whole campaign. It
-- adds none for a cancelled campaign, because `control` has added it.
if not campaign[2] and state ~= campaign[1] then
  redis.pcall('XADD', KEYS[9], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[2], 'state', state)
end
redis.call('LREM', KEYS[4], 0, ARGV[2])
redis.call('DEL', KEYS[5])
redis.call('ZADD', KEYS[7], now, ARGV[2])
redis.call('SREM', KEYS[8], ARGV[2])
return {1, state}
