#!lua flags=allow-oom
-- reopen: opens the slices of a campaign that are in no list.
-- Keeps: an unfinished slice is open, held or parked, even if two workers of one name or a defect lost its reference.
-- One that is open and held at once does no harm: its lease decides. A campaign with open slices is on its lane, unless
-- it is paused.
-- What is parked for more than a year is not: no retry takes as long.
-- KEYS 1 campaign, 2 finished slices, 3 open slices, 4 parked, 5 lane, 6 running campaigns, 7... processing lists
-- ARGV 1 id, 2 partitions of the store
-- Returns the number of slices opened
local campaign = redis.call('HMGET', KEYS[1], 'state', 'slices', 'finished')
if not campaign[1] then
  redis.call('SREM', KEYS[6], ARGV[1])
  return 0
end
local known, held = {}, 0
for i = 7, #KEYS do
  for _, reference in ipairs(redis.call('LRANGE', KEYS[i], 0, -1)) do
    local partition, id = reference:match('^(%d+):(.*)$')
    if id == ARGV[1] and not known[partition] then
      known[partition] = true
      held = held + 1
    end
  end
end
local function enter_lane()
  local may_run = campaign[1] == 'active' or campaign[1] == 'cancelled'
  if may_run and redis.call('LLEN', KEYS[3]) > 0 and not redis.call('LPOS', KEYS[5], ARGV[1]) then
    redis.call('RPUSH', KEYS[5], ARGV[1])
  end
end
if redis.call('LLEN', KEYS[3]) + held >= campaign[2] - (campaign[3] or 0) then
  enter_lane()
  return 0
end
for _, partition in ipairs(redis.call('LRANGE', KEYS[3], 0, -1)) do known[partition] = true end
local finished, opened = redis.call('GET', KEYS[2]) or '', 0
local latest = (redis.call('TIME')[1] + 366 * 86400) * 1000
for partition = 0, ARGV[2] - 1 do
  local byte = finished:byte(math.floor(partition / 8) + 1) or 0
  local is_finished = math.floor(byte / 2 ^ (7 - partition % 8)) % 2 == 1
  local due = redis.call('ZSCORE', KEYS[4], partition .. ':' .. ARGV[1])
  if not is_finished and not known[tostring(partition)] and not (due and tonumber(due) <= latest) then
    redis.call('RPUSH', KEYS[3], partition)
    opened = opened + 1
  end
end
enter_lane()
return opened
