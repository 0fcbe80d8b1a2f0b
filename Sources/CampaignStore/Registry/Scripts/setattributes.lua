#!lua
-- setattributes: replaces attributes of users if they have not changed since the caller read them.
-- Invariant: if the attributes have changed, the script does not overwrite them, and the caller must read them again.
-- The script does not store attributes if an event in them is from before the user's erasure. Attributes of a user
-- without a device are retained.
-- KEYS 1 attributes, 2 users, 3 erased, 4 retained
-- ARGV four values for each of at most 500 users: user, attributes as the caller read them ('' for none), new
--      attributes, time of the oldest event in the new attributes (ms)
-- Returns for each user 1 if the new attributes were stored; 0 if the attributes have changed since the caller read
-- them; the time of the user's erasure, as text, if the oldest event is not later than the erasure
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
