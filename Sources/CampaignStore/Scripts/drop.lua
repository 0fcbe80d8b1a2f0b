#!lua
-- drop: prunes, quarantines or releases devices of users.
-- Keeps: a device that registered after the given instant stays as it is.
-- KEYS 1 devices, 2 users
-- ARGV four each: user, raw token, 'prune' | 'quarantine' | 'release', instant in ms
-- Returns the number of devices changed
local changed = 0
for i = 1, #ARGV, 4 do
  if edit_device(KEYS[1], KEYS[2], ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3])) then changed = changed + 1 end
end
return changed
