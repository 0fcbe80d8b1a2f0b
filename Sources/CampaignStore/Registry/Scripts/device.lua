-- Functions shared by the scripts that edit device records. The loader puts this file in front of these scripts.
-- A value of the hash `devices` has all device records of a user, one after the other. A record is:
--      u16 length of the rest
--      u8 version (1)
--      u8 flags (1: quarantined)
--      u8 kind of token
--      u48 registeredAt (ms)
--      u48 lastSeen (ms)
--      u16 token length, token
--      seven texts, each u8 length and text: service, app, environment, locale, timezone, appVersion, osVersion
--      attributes up to the end, each u8 length and name, u16 length and value

-- Finds the device with a token in a user's device records. Returns the offset of the device, the offset of the next
-- device, the flags of the found device and its registration time; nil if the user does not have the device.
local function find_device(blob, token)
  local at = 1
  while at < #blob do
    local length, _, flags, _, registered, _, its_token = struct.unpack('>I2BBBI6I6I2c0', blob, at)
    if its_token == token then return at, at + 2 + length, flags, registered end
    at = at + 2 + length
  end
end

local function registered_at(blob, at) return (struct.unpack('>I6', blob, at + 5)) end
local function flags_of(blob, at) return blob:byte(at + 3) end

-- Returns the user's device records, with new flags for the device at offset `at`.
local function with_flags(blob, at, flags)
  return blob:sub(1, at + 2) .. string.char(flags) .. blob:sub(at + 4)
end

-- Removes all data of users who have no device left: at most 500 users.
local function remove_users(devices, users, attributes, pressure, names)
  redis.call('HDEL', devices, unpack(names))
  redis.call('SREM', users, unpack(names))
  redis.call('HDEL', attributes, unpack(names))
  redis.call('HDEL', pressure, unpack(names))
end

-- Returns whether a quarantine note belongs to a device of this user.
local function is_note_of(note, user)
  return note and note:sub(-#user - 2) == struct.pack('>I2', #user) .. user
end

-- Removes the quarantine note of a user's device. The field of a note is the token, and the note ends with its user.
-- While a device moves to another user of the partition, both users have it. The note may then belong to the other
-- user's device.
local function remove_note(quarantine, user, token)
  if is_note_of(redis.call('HGET', quarantine, token), user) then redis.call('HDEL', quarantine, token) end
end

-- `devices_of` has the users' device records that a script has read and edited. `edited` has the users whose records
-- have changed, and `notes` the new quarantine notes. One command for all users costs Redis little more than a command
-- for one user.
local devices_of, edited, is_edited, notes = {}, {}, {}, {}

-- Reads the devices of users that will be edited, at most 500.
local function read_devices(devices, names)
  if #names == 0 then return end
  local blobs = redis.call('HMGET', devices, unpack(names))
  for i = 1, #names do devices_of[names[i]] = blobs[i] or '' end
end

-- Prunes or quarantines one device of a user, or ends its quarantine ('release'). The user's devices must have been
-- read. A device that registered after `instant` (ms) stays unchanged. Returns whether the device changed, and whether
-- it stays because it registered later. `write_edits` writes the change. A quarantined device has a note with the
-- reason and the time.
local function edit_device(quarantine, user, token, action, instant, note)
  local blob = devices_of[user]
  local at, behind, known_flags, registered = find_device(blob, token)
  if at and registered > instant then return false, true end
  known_flags = known_flags or 1
  local flags = action == 'quarantine' and 1 or 0
  if at and action ~= 'prune' and known_flags == flags then return false end
  if at and action == 'quarantine' then
    notes[token] = note
  elseif known_flags == 1 then
    if is_note_of(notes[token], user) then notes[token] = nil end
    remove_note(quarantine, user, token)
  end
  if not at then return false end
  if action == 'prune' then
    devices_of[user] = at == 1 and blob:sub(behind) or blob:sub(1, at - 1) .. blob:sub(behind)
  else
    devices_of[user] = with_flags(blob, at, flags)
  end
  if not is_edited[user] then
    is_edited[user] = true
    edited[#edited + 1] = user
  end
  return true
end

-- Writes the edited devices. Returns the users who have no device left. The function removes their attributes and
-- frequency cap counters, unless `retains` is true: then the caller retains this data.
local function write_edits(devices, users, attributes, pressure, quarantine, retains)
  local gone, left, noted = {}, {}, {}
  for i = 1, #edited do
    local user = edited[i]
    local blob = devices_of[user]
    if blob == '' then
      gone[#gone + 1] = user
    else
      left[#left + 1] = user
      left[#left + 1] = blob
    end
  end
  for token, note in pairs(notes) do
    noted[#noted + 1] = token
    noted[#noted + 1] = note
  end
  if #gone > 0 and retains then
    redis.call('HDEL', devices, unpack(gone))
    redis.call('SREM', users, unpack(gone))
  elseif #gone > 0 then
    remove_users(devices, users, attributes, pressure, gone)
  end
  if #left > 0 then redis.call('HSET', devices, unpack(left)) end
  if #noted > 0 then redis.call('HSET', quarantine, unpack(noted)) end
  return gone
end
