#!lua
-- setattributes: replaces attributes of users, where they are what they were when they were read.
-- Invariant: another's change meanwhile is not undone: it is to be read again. Nothing is kept that was said of a user
-- before that user was erased; what is known of a user who has no device is retained.
-- KEYS 1 attributes, 2 users, 3 erased, 4 retained
-- ARGV four each, of at most 500: user, attributes as they were ('' for none), as they are to be, the time of the
--      oldest statement in them (ms)
-- Returns for each 1 when they are that now; 0 when they are others by now; the time of the user's erasure, as text,
-- when that is as new as the oldest statement
local names, answer, waiting = {}, {}, {}
for i = 1, #ARGV, 4 do names[#names + 1] = ARGV[i] end
local erasure = erasures(KEYS[3], names)
local known = redis.call('HMGET', KEYS[1], unpack(names))
local listed = redis.call('SMISMEMBER', KEYS[2], unpack(names))
for i = 1, #names do
  local user, was, oldest = names[i], ARGV[4 * i - 2], tonumber(ARGV[4 * i])
  if oldest <= (erasure[user] or -1) then
    answer[i] = string.format('%.0f', erasure[user])
  elseif (known[i] or '') ~= was then
    answer[i] = 0
  else
    redis.call('HSET', KEYS[1], user, ARGV[4 * i - 1])
    if listed[i] == 0 then waiting[#waiting + 1] = user end
    answer[i] = 1
  end
end
retain(KEYS[4], waiting)
return answer
