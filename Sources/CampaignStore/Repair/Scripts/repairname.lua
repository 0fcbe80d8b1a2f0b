#!lua flags=allow-oom
-- repairname: removes attributes and counters that a partition has under an older form of users' ids.
-- Data that has changed since it was read stays.
-- Invariant: the caller has first stored the data under the present form. The data of a user with a device stays.
-- KEYS 1 devices, 2 attributes, 3 pressure, 4 retained
-- ARGV three values for each of at most 500 users: user, attributes as read ('' for none), pressure as read ('' for
--      none)
-- Returns for each user 1 if no data remains, else 0
local answer = {}
for i = 1, #ARGV, 3 do
  local user = ARGV[i]
  local is_same = redis.call('HEXISTS', KEYS[1], user) == 0
    and (redis.call('HGET', KEYS[2], user) or '') == ARGV[i + 1]
    and (redis.call('HGET', KEYS[3], user) or '') == ARGV[i + 2]
  if is_same then
    redis.call('HDEL', KEYS[2], user)
    redis.call('HDEL', KEYS[3], user)
    redis.call('ZREM', KEYS[4], user)
  end
  answer[#answer + 1] = is_same and 1 or 0
end
return answer
