#!lua flags=allow-oom
-- close: ends a slice and gives its final counters.
-- Keeps: a slice ends once, with an outcome for every target. Cancelled: answered targets keep their outcome, those in
-- doubt become `unknown` (24), all others `cancelled` (25); an unsealed slice ends with no targets.
-- KEYS 1 slice, 2 building, of this claim, 3 retry
-- ARGV 1 claim id, 2 'finish' | 'cancel'
-- Returns the slice's fields and values, or 0 when the claim is stale, 1 when targets are left
local slice = redis.call('HMGET', KEYS[1], 'phase', 'claim', 'count', 'granted', 'doubt', 'waiting')
local phase = slice[1]
if phase == 'done' or phase == 'cancelled' then return redis.call('HGETALL', KEYS[1]) end
if slice[2] ~= ARGV[1] then return 0 end
local count, granted = tonumber(slice[3] or 0), tonumber(slice[4] or 0)
local doubt, waiting = tonumber(slice[5] or 0), tonumber(slice[6] or 0)
if not is_sound(phase, count, granted, doubt, waiting) then return damaged() end
if ARGV[2] == 'cancel' then
  if phase == 'expanding' then count = 0 end
  if doubt > 0 then redis.call('HINCRBY', KEYS[1], '24', doubt) end
  local rest = count - granted + waiting
  if rest > 0 then redis.call('HINCRBY', KEYS[1], '25', rest) end
  redis.call('UNLINK', KEYS[2], KEYS[3])
  redis.call('HSET', KEYS[1], 'phase', 'cancelled', 'count', count, 'doubt', 0, 'waiting', 0)
elseif phase == 'sealed' and granted == count and doubt == 0 and waiting == 0 then
  redis.call('HSET', KEYS[1], 'phase', 'done')
else
  return 1
end
redis.call('HDEL', KEYS[1], 'claim', 'lease', 'owner', 'deaths', 'bisected', 'times', 'ready', 'readyAt',
  'admittedLast')
return redis.call('HGETALL', KEYS[1])
