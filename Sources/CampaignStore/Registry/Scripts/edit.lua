#!lua
-- edit: removes, prunes or quarantines devices of users, or ends their quarantine.
-- Invariant: a device that registered after the given instant stays unchanged. The action 'remove' records the removal,
-- so that an older registration that arrives later changes nothing. The attributes and the `pressure` record of a user
-- without a device are retained. A user who loses a device departs (`departures.lua`).
-- KEYS 1 devices, 2 users, 3 quarantine, 4 attributes, 5 pressure, 6 removals, 7 retained, 8 departures
-- ARGV five values for each of at most 500 devices:
--      user
--      token
--      action: 'remove', 'prune' or 'erase' (both remove the device without a record of the removal), 'quarantine', or
--        'release' (ends the quarantine)
--      instant in ms
--      quarantine note ('' for other actions)
-- Returns for each device 1 if it was changed, 2 if a newer registration or removal exists, else 0
local names, answer, marks, departed = {}, {}, {}, {}
for i = 1, #ARGV, 5 do names[#names + 1] = ARGV[i] end
read_devices(KEYS[1], names)
for i = 1, #ARGV, 5 do
  local action, instant, mark = ARGV[i + 2], tonumber(ARGV[i + 3]), nil
  if action == 'remove' then
    action = 'prune'
    if instant > 0 then mark = removal('d', ARGV[i], ARGV[i + 1]) end
  end
  if action == 'erase' then action = 'prune' end
  local hit, is_newer = edit_device(KEYS[3], ARGV[i], ARGV[i + 1], action, instant, ARGV[i + 4])
  if hit and action == 'prune' then departed[#departed + 1] = ARGV[i] end
  if mark then
    is_newer = is_newer or (redis.call('ZSCORE', KEYS[6], mark) or 0) + 0 > instant
    marks[#marks + 1] = instant
    marks[#marks + 1] = mark
  end
  answer[#answer + 1] = hit and 1 or is_newer and 2 or 0
end
if #marks > 0 then redis.call('ZADD', KEYS[6], 'GT', unpack(marks)) end
local gone, kept = write_edits(KEYS[1], KEYS[2], KEYS[4], KEYS[5], KEYS[3], true), {}
for i = 1, #gone do
  if redis.call('HGET', KEYS[4], gone[i]) or redis.call('HGET', KEYS[5], gone[i]) then
    kept[#kept + 1] = gone[i]
  end
end
retain(KEYS[7], kept)
depart(KEYS[8], departed)
return answer
