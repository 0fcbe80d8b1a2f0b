-- Shared by the scripts that count departures or read them; the loader puts it in front of them.
-- A user departs who loses a device or enters a suppression list. Targets that were sealed before may be invalid from
-- then on. The string of departures has their number (u48) and a ring of the fingerprints (u32) of the last 512 users.
-- A fingerprint may belong to several users, so it only says whose targets are to be checked (`regrant.lua`).
local ring_size = 512

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

-- Returns the number of departures.
local function count_departures(departures)
  local head = redis.call('GETRANGE', departures, 0, 5)
  return #head == 6 and struct.unpack('>I6', head) or 0
end

-- Counts departures of users who are not remembered: after more than fit into the ring, every target is checked.
local function depart_unnamed(departures)
  redis.call('SETRANGE', departures, 0, struct.pack('>I6', count_departures(departures) + ring_size + 1))
end

-- Counts departures of these users.
local function depart(departures, users)
  if #users == 0 then return end
  if #users > ring_size then return depart_unnamed(departures) end
  local number, prints = count_departures(departures), {}
  local place = number % ring_size
  for i = 1, #users do prints[i] = fingerprint(users[i]) end
  local first = math.min(#users, ring_size - place)
  redis.call('SETRANGE', departures, 6 + place * 4, table.concat(prints, '', 1, first))
  if first < #users then redis.call('SETRANGE', departures, 6, table.concat(prints, '', first + 1)) end
  redis.call('SETRANGE', departures, 0, struct.pack('>I6', number + #users))
end

-- Returns the fingerprints of the users who have departed since the number of departures was `known`; false where the
-- ring does not have all of them.
local function departed_since(departures, number, known)
  if number == known then return '' end
  if known < 0 or known > number or number - known > ring_size then return false end
  local place, wanted = known % ring_size, number - known
  local first = math.min(wanted, ring_size - place)
  local prints = redis.call('GETRANGE', departures, 6 + place * 4, 5 + (place + first) * 4)
  if first < wanted then prints = prints .. redis.call('GETRANGE', departures, 6, 5 + (wanted - first) * 4) end
  return #prints == wanted * 4 and prints
end
