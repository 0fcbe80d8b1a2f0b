#!lua
-- setattributes: replaces attributes of users if they have not changed since they were read.
-- Invariant: if another caller has changed the attributes, the script does not overwrite them, and the caller must read
-- them again. Attributes are not stored if their oldest event is from before the user's erasure. Attributes of a user
-- without a device are retained.
-- KEYS 1 attributes, 2 users, 3 erased, 4 retained
-- ARGV four values for each of at most 500 users: user, attributes as read ('' for none), new attributes, time of the
--      oldest event in them (ms)
-- Returns for each user 1 if the new attributes were stored; 0 if the attributes have changed since they were read; the
-- time of the user's erasure, as text, if the oldest event is not newer
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
