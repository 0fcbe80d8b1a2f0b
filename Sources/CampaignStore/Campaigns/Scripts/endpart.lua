#!lua flags=allow-oom
-- endpart: updates a campaign after one of its parts has ended. The gate of the campaign becomes due, or the campaign
-- ends with its last part. If only paused legs have targets left, the script pauses the campaign, with the reason of
-- one of these legs.
-- Invariant: a campaign ends once, when all of its parts have ended, however often this script runs. Its final state is
-- computed from all stages together. Companions (refreshes of widgets and controls) do not count. The campaign has
-- failed if a part is missing or if a slice of a part was isolated.
-- KEYS 1 campaign, 2 gates, 3 ended campaigns, 4 running campaigns, 5 changes, 6... the campaign's parts
-- ARGV 1 id of the campaign, then for each part '1' for a leg of a stage, '0' for a companion
-- Returns 1 if the campaign has ended, now or before, else 0
local campaign = redis.call('HMGET', KEYS[1], 'state', 'finishedAt')
local state = campaign[1]
if not state then return 0 end
if campaign[2] then return 1 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[2], 'XX', now, ARGV[1])
local refused, delivered, has_failed = 0, 0, false
-- Position of the key of a paused part that has not ended.
local paused
for i = 6, #KEYS do
  local part = redis.call('HMGET', KEYS[i], 'state', 'finishedAt', '16', '24', '19', '20', '21', '22', 'takenOut')
  if part[1] and not part[2] then
    if part[1] ~= 'paused' then return 0 end
    paused = i
  end
  if not part[1] or tonumber(part[9] or 0) > 0 then has_failed = true end
  if ARGV[i - 4] == '1' then
    for field = 5, 8 do refused = refused + (part[field] or 0) end
    delivered = delivered + (part[3] or 0) + (part[4] or 0)
  end
end
if paused then
  if state ~= 'active' then return 0 end
  local leg = redis.call('HMGET', KEYS[paused], 'reason', 'pausedItself')
  redis.call('HSET', KEYS[1], 'state', 'paused')
  if leg[1] then redis.call('HSET', KEYS[1], 'reason', leg[1]) end
  if leg[2] then redis.call('HSET', KEYS[1], 'pausedItself', leg[2]) end
  redis.pcall('XADD', KEYS[5], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', 'paused', 'reason',
    leg[1] or '', 'by', leg[2] and 'worker' or 'person')
  return 0
end
if state ~= 'cancelled' then
  state = (has_failed or refused > 0 and delivered == 0) and 'failed' or 'completed'
  redis.pcall('XADD', KEYS[5], 'MAXLEN', '~', 1000, '*', 'campaign', ARGV[1], 'state', state)
end
redis.call('HSET', KEYS[1], 'state', state, 'finishedAt', now)
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('SREM', KEYS[4], ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
return 1
