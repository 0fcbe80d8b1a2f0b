#!lua
-- setattributes: replaces attributes of users, where they are what they were when they were read.
-- Keeps: who has no device has no attributes. Another's change meanwhile is not undone: it is to be read again.
-- KEYS 1 attributes, 2 users
-- ARGV three each: user, attributes as they were ('' for none), as they are to be ('' for none)
-- Returns for each 1 when they are that now, or nobody has them; 0 when they are others by now
local answer = {}
for i = 1, #ARGV, 3 do
  local user, was, now = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if (redis.call('HGET', KEYS[1], user) or '') ~= was then
    answer[#answer + 1] = 0
  else
    if now == '' then
      redis.call('HDEL', KEYS[1], user)
    elseif redis.call('SISMEMBER', KEYS[2], user) == 1 then
      redis.call('HSET', KEYS[1], user, now)
    end
    answer[#answer + 1] = 1
  end
end
return answer
