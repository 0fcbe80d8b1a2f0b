-- Functions shared by the scripts that read or count departures. The loader puts this file in front of these scripts.
-- A user departs when the user loses a device or opts out. The user's targets in slices that were sealed before the
-- departure may then be invalid. The string `departures` of a partition has the number of departures (u48) and a ring
-- of the fingerprints (u32) of the last 512 users. Several users may have the same fingerprint. A fingerprint therefore
-- only selects targets, which `regrant.lua` then checks.
-- These functions pass offsets to Redis as texts, because Redis needs ten times as long to format a number as to copy a
-- text.
local ring_size, decimal = 512, string.format

-- Returns the number of departures.
local function count_departures(departures)
  local head = redis.call('GETRANGE', departures, '0', '5')
  return #head == 6 and struct.unpack('>I6', head) or 0
end

-- Adds departures, with the users' fingerprints. `number` is the number of departures so far. A call adds at most
-- `ring_size` departures.
local function note_departures(departures, number, prints)
  local place = number % ring_size
  local first = math.min(#prints, ring_size - place)
  redis.call('SETRANGE', departures, decimal('%d', 6 + place * 4), table.concat(prints, '', 1, first))
  if first < #prints then redis.call('SETRANGE', departures, '6', table.concat(prints, '', first + 1)) end
  redis.call('SETRANGE', departures, '0', struct.pack('>I6', number + #prints))
end

-- Returns the fingerprints of the users who departed after the first `known` departures; false if the ring does not
-- have all of them. `number` is the number of departures so far.
local function departed_since(departures, number, known)
  if number == known then return '' end
  if known < 0 or known > number or number - known > ring_size then return false end
  local place, wanted = known % ring_size, number - known
  local first = math.min(wanted, ring_size - place)
  local prints = redis.call('GETRANGE', departures, 6 + place * 4, 5 + (place + first) * 4)
  if first < wanted then prints = prints .. redis.call('GETRANGE', departures, 6, 5 + (wanted - first) * 4) end
  return #prints == wanted * 4 and prints
end
