-- Shared by the scripts that have users depart; the loader puts it in front of them, behind `departures.lua`.

-- FNV-1a of 32 bits; `UserFingerprint` is its counterpart.
local function fingerprint(user)
  local hash = 2166136261
  for i = 1, #user do
    local low = hash % 256
    hash = hash - low + bit.bxor(low, user:byte(i))
    -- The prime is 2^24 + 403. Two products stay below 2^53, as a number of Lua must.
    hash = (hash * 403 + hash % 256 * 16777216) % 4294967296
  end
  return struct.pack('>I4', hash)
end

-- Counts departures of users who are not remembered: after more than fit into the ring, every target is checked.
local function depart_unnamed(departures)
  redis.call('SETRANGE', departures, '0', struct.pack('>I6', count_departures(departures) + ring_size + 1))
end

-- Counts departures of these users.
local function depart(departures, users)
  if #users == 0 then return end
  if #users > ring_size then return depart_unnamed(departures) end
  local prints = {}
  for i = 1, #users do prints[i] = fingerprint(users[i]) end
  note_departures(departures, count_departures(departures), prints)
end
