#!lua flags=allow-oom
-- repairlist: removes older forms of users' ids from a segment or suppression list, after `repairmembers` has added the
-- present forms. Earlier versions of Carillon stored the older form of an id, which the present version does not find.
-- Invariant: an older form stays in the list while devices are registered under it, because the list must still apply
-- to these devices.
-- KEYS 1 devices, 2 segment or suppression list, 3 times of its statements (`stated`), 4 arrivals, only for a
--      suppression list
-- ARGV ids in an older form, at most 500
-- Returns for each id 1 if the list no longer contains it, else 0
local gone, answer = {}, {}
for i = 1, #ARGV do
  local has_devices = redis.call('HEXISTS', KEYS[1], ARGV[i]) == 1
  if not has_devices then gone[#gone + 1] = ARGV[i] end
  answer[i] = has_devices and 0 or 1
end
if #gone > 0 then
  redis.call('SREM', KEYS[2], unpack(gone))
  redis.call('ZREM', KEYS[3], unpack(gone))
  if KEYS[4] then redis.call('ZREM', KEYS[4], unpack(gone)) end
end
return answer
