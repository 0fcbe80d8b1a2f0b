-- Functions shared by the scripts that record departures: users who lost a device or opted out. The loader puts
-- `departures.lua` and then this file in front of these scripts.

-- Returns the 32-bit FNV-1a hash of a user; `UserFingerprint` is its counterpart in Swift.
local function fingerprint(user)
  local hash = 2166136261
  for i = 1, #user do
    local low = hash % 256
    hash = hash - low + bit.bxor(low, user:byte(i))
    -- The prime is 2^24 + 403. Both products stay below 2^53, the limit of exact integers in Lua.
    hash = (hash * 403 + hash % 256 * 16777216) % 4294967296
  end
  return struct.pack('>I4', hash)
end

-- Records departures of users who are not named. Raises the number of departures by more than the ring of fingerprints
-- can list, and stores no fingerprints. Workers then check every target.
local function depart_unnamed(departures)
  redis.call('SETRANGE', departures, '0', struct.pack('>I6', count_departures(departures) + ring_size + 1))
end

-- Records a departure of each of these users.
local function depart(departures, users)
  if #users == 0 then return end
  if #users > ring_size then return depart_unnamed(departures) end
  local prints = {}
  for i = 1, #users do prints[i] = fingerprint(users[i]) end
  note_departures(departures, count_departures(departures), prints)
end
