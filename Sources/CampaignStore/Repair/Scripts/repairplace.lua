#!lua flags=allow-oom
-- repairplace: removes users from a partition that is not theirs, if their devices have not changed since the caller
-- read them.
-- Invariant: a user is in one partition. The caller has already registered the devices in the right partition.
-- KEYS 1 devices, 2 users, 3 attributes, 4 pressure
-- ARGV two values for each user: user, device records as the caller read them ('' for none)
-- Returns the number of removed users
local count = 0
for i = 1, #ARGV, 2 do
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('SREM', KEYS[2], ARGV[i])
    redis.call('HDEL', KEYS[3], ARGV[i])
    redis.call('HDEL', KEYS[4], ARGV[i])
    count = count + 1
  end
end
return count
