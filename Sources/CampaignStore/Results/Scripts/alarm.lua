#!lua flags=allow-oom
-- alarm: takes note of the alarms that there are, and tells webhooks of those that were raised or cleared since.
-- Invariant: an alarm is told of once when it is raised and once when it is cleared, whoever looks and however often.
-- KEYS 1 alarms, 2 changes
-- ARGV names and texts of all alarms that there are, 200 at most; a name is its kind, a blank, and its subject
-- Returns how many were raised or cleared
local now, changed = {}, 0
local function tell(name, state, text)
  redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'alarm', name, 'state', state, 'text', text)
  changed = changed + 1
end
for i = 1, #ARGV, 2 do
  now[ARGV[i]] = true
  if redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) == 1 then tell(ARGV[i], 'raised', ARGV[i + 1]) end
end
local known = redis.call('HGETALL', KEYS[1])
for i = 1, #known, 2 do
  if not now[known[i]] then
    redis.call('HDEL', KEYS[1], known[i])
    tell(known[i], 'cleared', known[i + 1])
  end
end
return changed
