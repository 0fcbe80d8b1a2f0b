#!lua
-- edit: prunes, quarantines or releases devices of users.
-- Keeps: a device that registered after the given instant stays as it is.
-- KEYS 1 devices, 2 users, 3 quarantine, 4 attributes, 5 pressure
-- ARGV five each, of at most 500 devices: user, raw token, 'prune' | 'quarantine' | 'release', instant in ms, note for
--      the quarantine
-- Returns for each 1 when the device was changed, else 0
local names, changed = {}, {}
for i = 1, #ARGV, 5 do names[#names + 1] = ARGV[i] end
read_devices(KEYS[1], names)
for i = 1, #ARGV, 5 do
  local hit = edit_device(KEYS[3], ARGV[i], ARGV[i + 1], ARGV[i + 2], tonumber(ARGV[i + 3]), ARGV[i + 4])
  changed[#changed + 1] = hit and 1 or 0
end
write_edits(KEYS[1], KEYS[2], KEYS[4], KEYS[5], KEYS[3])
return changed
