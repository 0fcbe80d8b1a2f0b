#!lua flags=allow-oom
-- repairlist: removes older forms of users' ids from a list of users, after `repairmembers` has added the present
-- forms.
-- Invariant: an older form stays in the list while it has devices, because the list must still apply to these devices.
-- KEYS 1 devices, 2 list, 3 its times, and for a suppression list 4 arrivals
-- ARGV users, at most 500
-- Returns for each user 1 if the user is no longer in the list, else 0
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
