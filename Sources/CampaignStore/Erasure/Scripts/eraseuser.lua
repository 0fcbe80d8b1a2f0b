#!lua
-- eraseuser: erases the data of a user in a partition, except devices.
-- Invariant: only a digest of the user stays, with the time of the erasure. An event from before the erasure changes
-- nothing, even if it arrives later. Data that was set after the erasure stays.
-- KEYS 1 erased, 2 attributes, 3 pressure, 4 retained, 5 users, then two keys for each of at most 100 segments and
--      suppression lists: the list, the times of its changes (`stated`)
-- ARGV 1 user, 2 time of the erasure (ms since the epoch; '' for now)
-- Returns the time of the erasure (ms since the epoch)
local user, at = ARGV[1], tonumber(ARGV[2]) or clock()
redis.call('ZADD', KEYS[1], 'GT', at, digest(user))

-- Returns the attributes that were set after the erasure, or nil if there are none.
local function later_attributes(known)
  local is_read, root = pcall(cjson.decode, known)
  local times = is_read and root[''] or {}
  if (times[1] or 0) > at then return known end
  local head, values = {'0'}, {}
  for i = 2, #times, 2 do
    local name = times[i]
    if times[i + 1] > at then
      head[#head + 1] = cjson.encode(name) .. ',' .. string.format('%.0f', times[i + 1])
      if root[name] ~= nil then values[#values + 1] = ',' .. cjson.encode(name) .. ':' .. cjson.encode(root[name]) end
    end
  end
  return #head > 1 and '{"":[' .. table.concat(head, ',') .. ']' .. table.concat(values) .. '}' or nil
end

-- Returns the user's `pressure` record with only the badges that apps reported after the erasure, or nil if there are
-- none.
local function later_pressure(record)
  local place, kept = 1, ''
  while place <= #record do
    local app = record:sub(place + 1, place + record:byte(place))
    local _, badge, times, _, reported = pressure_parts(record, app)
    if struct.unpack('>I6', reported) > at then kept = pressure_record(kept, app, badge, '', '', reported) end
    place = place + 1 + #app + 15 + #times
  end
  return kept ~= '' and kept or nil
end

local keeps = redis.call('SISMEMBER', KEYS[5], user) == 1
local function replace(key, later)
  local known = redis.call('HGET', KEYS[key], user)
  local rest = known and later(known)
  if rest then
    redis.call('HSET', KEYS[key], user, rest)
    keeps = true
  elseif known then
    redis.call('HDEL', KEYS[key], user)
  end
end
replace(2, later_attributes)
replace(3, later_pressure)
if not keeps then redis.call('ZREM', KEYS[4], user) end
for i = 6, #KEYS, 2 do
  if (redis.call('ZSCORE', KEYS[i + 1], user) or -1) + 0 <= at then
    redis.call('SREM', KEYS[i], user)
    redis.call('ZREM', KEYS[i + 1], user)
  end
end
return at
