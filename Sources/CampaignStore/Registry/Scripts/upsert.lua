#!lua
-- upsert: writes devices into the records of their users.
-- Invariant: a user has one record for each token, and the later `registeredAt` wins. The script writes a device only
-- if the device registered after its last removal and after the user's erasure.
-- The attributes of the latest registration with attributes win. If an event has set an attribute later, this attribute
-- stays. Only a later registration ends a quarantine; a repeated import does not.
-- A user has a limited number of devices. If there are too many, the script removes the device that was seen longest
-- ago; a registration counts as seen. If several devices were last seen at the same time, it removes the one that
-- registered first. If these also registered at the same time, it removes the first one in the record.
-- A new device also removes tokens of Live Activities that registered more than two days before it. No activity lasts
-- that long, and nothing else removes these tokens. A user who loses a device departs (`departures.lua`).
-- If the records are so large that other callers would wait too long, the script processes only the first devices. The
-- caller then calls it again for the others.
-- Attributes are a JSON object. Its first member has the empty name and is an array. The array has the time when all
-- attributes were set, then the name and time of each attribute that was set later.
-- KEYS 1 devices, 2 users, 3 attributes, 4 quarantine, 5 removals, 6 erased, 7 retained, 8 departures, 9 moving
-- ARGV 1 maximum number of devices of a user
--      2 '0' to write the devices; '1' for a login in an app that allows one device for each user: to write the
--        devices, and to remove the user's other devices of the app that are not newer; '2' to remove those other
--        devices only
--      3 name of the note of removed devices ('' for none)
--      then three values for each device: user, device record, attributes as JSON ('' leaves them unchanged)
-- The owner index still has the tokens of the removed devices. The note of these devices in `moving` stays until a
-- caller has removed the tokens from the index. A note is: u32 0xffffffff, then for each device u16 length and user,
-- device record.
-- Returns an array. The places in its lists begin with 0:
--      number of devices processed
--      list of the places of devices that were not written because of a later removal or erasure
--      list of the places of devices that changed nothing because a newer registration exists
--      list of the places of devices whose attributes the caller must merge
--      list of the removed devices, with two values for each: user, record
local page, largest_page, most = 2, 32, 131072
local live_activity, activity_lifetime = 9, 172800000
local limit, is_exclusive, writes = tonumber(ARGV[1]), ARGV[2] ~= '0', ARGV[2] ~= '2'
local void, older, unmerged, gone = {}, {}, {}, {}
local remembers = redis.call('EXISTS', KEYS[5]) == 1
local retains = redis.call('EXISTS', KEYS[7]) == 1

-- Returns the user's record without the device that must be removed first, and this device.
local function without_oldest(blob)
  local at, from, to, oldest_seen, oldest_at = 1
  while at < #blob do
    local registered, seen = struct.unpack('>I6I6', blob, at + 5)
    local behind = at + 2 + struct.unpack('>I2', blob, at)
    seen = math.max(seen, registered)
    if not from or seen < oldest_seen or seen == oldest_seen and registered < oldest_at then
      from, to, oldest_seen, oldest_at = at, behind, seen, registered
    end
    at = behind
  end
  return blob:sub(1, from - 1) .. blob:sub(to), blob:sub(from, to - 1)
end

local function count_devices(blob)
  local at, count = 1, 0
  while at < #blob do
    at = at + 2 + struct.unpack('>I2', blob, at)
    count = count + 1
  end
  return count
end

local function token_of(record)
  return record:sub(20, 19 + struct.unpack('>I2', record, 18))
end

-- Service and app are the first two texts after the token.
local function app_of(record)
  local at = 20 + struct.unpack('>I2', record, 18)
  at = at + 1 + record:byte(at)
  return record:sub(at + 1, at + record:byte(at))
end

-- Removes devices from a user's record: those for which `leaves` returns true. Returns the new record, and the removed
-- devices.
local function without(blob, leaves)
  local at, kept, ended = 1, nil, {}
  while at < #blob do
    local behind = at + 2 + struct.unpack('>I2', blob, at)
    if leaves(at, behind) then
      kept = kept or {blob:sub(1, at - 1)}
      ended[#ended + 1] = blob:sub(at, behind - 1)
    elseif kept then
      kept[#kept + 1] = blob:sub(at, behind - 1)
    end
    at = behind
  end
  return kept and table.concat(kept) or blob, ended
end

-- Adds devices to the list of removed devices, and removes their quarantine notes.
local function left(user, devices)
  for i = 1, #devices do
    if flags_of(devices[i], 1) == 1 then remove_note(KEYS[4], user, token_of(devices[i])) end
    gone[#gone + 1] = user
    gone[#gone + 1] = devices[i]
  end
end

-- Returns the user's record with the device in it, and whether the device is older than the stored one.
local function with_device(user, blob, record)
  local token = token_of(record)
  local at, behind = find_device(blob, token)
  if at then
    local known_at, new_at = registered_at(blob, at), registered_at(record, 1)
    if known_at > new_at then return blob, true end
    if known_at == new_at then
      record = with_flags(record, 1, flags_of(blob, at))
    elseif flags_of(blob, at) == 1 then
      remove_note(KEYS[4], user, token)
    end
    return blob:sub(1, at - 1) .. record .. blob:sub(behind), false
  end
  local oldest, ended = registered_at(record, 1) - activity_lifetime
  blob, ended = without(blob, function(place)
    return blob:byte(place + 4) == live_activity and registered_at(blob, place) < oldest
  end)
  left(user, ended)
  blob = blob .. record
  for _ = limit + 1, count_devices(blob) do
    local leaves
    blob, leaves = without_oldest(blob)
    left(user, {leaves})
  end
  return blob, false
end

-- Returns the user's record after a login on this device. The app allows one device for each user, so the user's other
-- devices of the app are removed, unless they are newer.
local function alone(user, blob, record)
  local token, app, at, ended = token_of(record), app_of(record), registered_at(record, 1)
  blob, ended = without(blob, function(from, behind)
    local device = blob:sub(from, behind - 1)
    return registered_at(device, 1) <= at and app_of(device) == app and token_of(device) ~= token
  end)
  left(user, ended)
  if at > 0 then redis.call('ZADD', KEYS[5], 'GT', at, removal('x', user, app)) end
  return blob
end

-- Returns whether a registration is invalid, because the user was erased later, or the device or the user's devices of
-- the app were removed later.
local function is_void(blob, record, removed_at, alone_at, erased_at)
  local at = registered_at(record, 1)
  if erased_at and at <= erased_at then return true end
  local known = find_device(blob, token_of(record))
  if known and registered_at(blob, known) >= at then return false end
  if removed_at and at <= removed_at or alone_at and at < alone_at then return true end
  if not alone_at or at > alone_at then return false end
  -- The login and the registration have the same time. The registration is invalid if the record has another device of
  -- the app with this time: the device on which the user logged in.
  local app = app_of(record)
  local _, others = without(blob, function(from, behind)
    return registered_at(blob, from) == at and app_of(blob:sub(from, behind - 1)) == app
  end)
  return #others > 0
end

-- Returns the attributes after a registration, or nil if they do not change; then true if the caller must merge them,
-- because attributes were set one by one. If two registrations have the same time, the greater text wins. If they have
-- no time (0), the later call wins.
local function attributes_after(known, json, record)
  if json:sub(1, 5) == '{"":[' then return not known and json or nil, known ~= nil and known ~= json end
  local at = string.format('%.0f', registered_at(record, 1))
  if known then
    local known_at = known:match('^{"":%[(%d+)%][,}]')
    if not known_at then return nil, true end
    if known_at + 0 > at + 0 then return nil, false end
    if known_at == at and at ~= '0' then
      local text = '{"":[' .. at .. ']' .. (json == '{}' and '' or ',') .. json:sub(2)
      return text > known and text or nil, false
    end
  end
  return '{"":[' .. at .. ']' .. (json == '{}' and '' or ',') .. json:sub(2), false
end

local place, bytes = 4, 0
while place <= #ARGV and bytes < most do
  local last = math.min(place + 3 * page - 1, #ARGV)
  local names, has_attributes = {}, false
  for i = place, last, 3 do
    names[#names + 1] = ARGV[i]
    has_attributes = has_attributes or ARGV[i + 2] ~= ''
  end
  local known = redis.call('HMGET', KEYS[1], unpack(names))
  local stored = has_attributes and redis.call('HMGET', KEYS[3], unpack(names))
  local erasure, removals = erasures(KEYS[6], names), nil
  if remembers then
    local members = {}
    for i = 1, #names do
      local record = ARGV[place + 3 * i - 2]
      members[2 * i - 1] = removal('d', names[i], token_of(record))
      members[2 * i] = removal('x', names[i], app_of(record))
    end
    removals = redis.call('ZMSCORE', KEYS[5], unpack(members))
  end
  local was, now, order, fields, joined, given, merged_now = {}, {}, {}, {}, {}, {}, {}
  for i = 1, #names do
    local user = names[i]
    local record, attributes = ARGV[place + 3 * i - 2], ARGV[place + 3 * i - 1]
    local number = (place - 4) / 3 + i - 1
    local blob, is_older = now[user], false
    if not blob then
      blob = known[i] or ''
      was[user] = blob
      order[#order + 1] = user
    end
    local removed_at = removals and tonumber(removals[2 * i - 1] or nil)
    local alone_at = removals and tonumber(removals[2 * i] or nil)
    if (removed_at or alone_at or erasure[user]) and is_void(blob, record, removed_at, alone_at, erasure[user]) then
      void[#void + 1] = number
    elseif writes and blob == '' then
      blob = record
    elseif writes and blob ~= record then
      blob, is_older = with_device(user, blob, record)
      if is_older then older[#older + 1] = number end
    end
    -- A later removal of the device may make a login invalid. The user's other devices are removed in any case.
    if is_exclusive then blob = alone(user, blob, record) end
    now[user] = blob
    if writes and attributes ~= '' and registered_at(record, 1) > (erasure[user] or -1) then
      local merged, needs_merge = attributes_after(merged_now[user] or stored[i] or nil, attributes, record)
      if needs_merge then
        unmerged[#unmerged + 1] = number
      elseif merged then
        merged_now[user] = merged
        given[#given + 1] = user
        given[#given + 1] = merged
      end
    end
    bytes = bytes + #blob
    if bytes >= most then
      last = place + 3 * i - 1
      break
    end
  end
  local waiting, empty = {}, {}
  for i = 1, #order do
    local user = order[i]
    if now[user] == '' and was[user] ~= '' then
      empty[#empty + 1] = user
    elseif now[user] ~= was[user] then
      fields[#fields + 1] = user
      fields[#fields + 1] = now[user]
    end
    if was[user] == '' and now[user] ~= '' then joined[#joined + 1] = user end
    if now[user] == '' and (was[user] ~= '' or merged_now[user]) then waiting[#waiting + 1] = user end
  end
  if #empty > 0 then
    redis.call('HDEL', KEYS[1], unpack(empty))
    redis.call('SREM', KEYS[2], unpack(empty))
  end
  if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
  if #joined > 0 then
    redis.call('SADD', KEYS[2], unpack(joined))
    if retains then redis.call('ZREM', KEYS[7], unpack(joined)) end
  end
  if #given > 0 then redis.call('HSET', KEYS[3], unpack(given)) end
  if #waiting > 0 then
    retain(KEYS[7], waiting)
    retains = true
  end
  place = last + 1
  -- The script estimates the size of the next page from the average so far. The page may fill half of the remaining
  -- bytes.
  page = math.floor((most - bytes) * (place - 4) / 3 / math.max(bytes, 1) / 2)
  page = math.max(1, math.min(largest_page, page))
end
local departed, note = {}, {'\255\255\255\255'}
for i = 1, #gone, 2 do
  departed[#departed + 1] = gone[i]
  note[#note + 1] = struct.pack('>I2', #gone[i]) .. gone[i] .. gone[i + 1]
end
depart(KEYS[8], departed)
if #departed > 0 and ARGV[3] ~= '' then redis.call('HSET', KEYS[9], ARGV[3], table.concat(note)) end
return {(place - 4) / 3, void, older, unmerged, gone}
