#!lua flags=allow-oom
-- repairname: removes attributes and `pressure` records that a partition has under an older form of users' ids. Earlier
-- versions of Carillon stored the older form, which the present version does not find.
-- Invariant: the caller has already stored the data under the present form of the ids. Data that has changed since the
-- caller read it stays, and so does the data of an id with a device.
-- KEYS 1 devices, 2 attributes, 3 pressure, 4 retained
-- ARGV three values for each of at most 500 ids in an older form: id, attributes as the caller read them ('' for none),
--      `pressure` record as the caller read it ('' for none)
-- Returns for each id 1 if it has no data left, else 0
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
