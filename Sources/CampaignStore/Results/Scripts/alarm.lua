#!lua flags=allow-oom
-- alarm: stores the active alarms, and adds an entry to the stream of changes for each alarm that was raised or
-- cleared.
-- Invariant: an alarm has one entry when it is raised and one when it is cleared, however many workers check the
-- alarms, and however often.
-- KEYS 1 alarms, 2 changes
-- ARGV two values for each of at most 200 active alarms: name, text. A name is the kind, a blank, and the subject
-- Returns the number of alarms that were raised or cleared
local now, changed = {}, 0
local function announce(name, state, text)
  redis.pcall('XADD', KEYS[2], 'MAXLEN', '~', 1000, '*', 'alarm', name, 'state', state, 'text', text)
  changed = changed + 1
end
for i = 1, #ARGV, 2 do
  now[ARGV[i]] = true
  if redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) == 1 then announce(ARGV[i], 'raised', ARGV[i + 1]) end
end
local known = redis.call('HGETALL', KEYS[1])
for i = 1, #known, 2 do
  if not now[known[i]] then
    redis.call('HDEL', KEYS[1], known[i])
    announce(known[i], 'cleared', known[i + 1])
  end
end
return changed
