-- Shared by the scripts that edit device records; the loader puts it in front of them.
-- A user's devices stand one behind the other in one value. A device is: u16 length of the rest, u8 version (1), u8
-- flags (1: quarantined), u8 kind of token, u48 registeredAt (ms), u48 lastSeen (ms), u16 token length, token, then
-- seven texts, each u8 length and text (service, app, environment, locale, timezone, appVersion, osVersion), then
-- attributes up to the end, each u8 length and name, u16 length and value.

-- Finds a device: where it begins, and where the next one would; nil when it isn't there.
local function find_device(blob, token)
  local at = 1
  while at < #blob do
    local length, token_length = struct.unpack('>I2', blob, at), struct.unpack('>I2', blob, at + 17)
    if token_length == #token and blob:sub(at + 19, at + 18 + token_length) == token then return at, at + 2 + length end
    at = at + 2 + length
  end
end

local function registered_at(blob, at) return (struct.unpack('>I6', blob, at + 5)) end
local function flags_of(blob, at) return blob:byte(at + 3) end

-- The same with other flags for the device that begins at `at`.
local function with_flags(blob, at, flags)
  return blob:sub(1, at + 2) .. string.char(flags) .. blob:sub(at + 4)
end

-- A user without a device is not kept, and neither are the attributes, nor what the user's apps have sent lately.
local function write_devices(devices, users, attributes, pressure, user, blob)
  if blob == '' then
    redis.call('HDEL', devices, user)
    redis.call('SREM', users, user)
    redis.call('HDEL', attributes, user)
    redis.call('HDEL', pressure, user)
  else
    redis.call('HSET', devices, user, blob)
  end
end

-- Removes the note why a device of the user is in quarantine. A note stands under the token, and ends with its user:
-- while a device moves to another user of the partition, both have it, and the note may be the other's.
local function remove_note(quarantine, user, token)
  local note = redis.call('HGET', quarantine, token)
  if note and note:sub(-#user - 2) == struct.pack('>I2', #user) .. user then redis.call('HDEL', quarantine, token) end
end

-- Prunes, quarantines or releases one device, unless it registered after `instant` (ms). Returns whether it changed.
-- What is in quarantine has a note there, why and since when.
local function edit_device(devices, users, attributes, pressure, quarantine, user, token, action, instant, note)
  local blob = redis.call('HGET', devices, user) or ''
  local at, behind = find_device(blob, token)
  if not at then remove_note(quarantine, user, token) end
  if not at or registered_at(blob, at) > instant then return false end
  local known_flags = flags_of(blob, at)
  if action == 'prune' then
    blob = blob:sub(1, at - 1) .. blob:sub(behind)
  else
    local flags = action == 'quarantine' and 1 or 0
    if known_flags == flags then return false end
    blob = with_flags(blob, at, flags)
  end
  write_devices(devices, users, attributes, pressure, user, blob)
  if action == 'quarantine' then
    redis.call('HSET', quarantine, token, note)
  elseif known_flags == 1 then
    remove_note(quarantine, user, token)
  end
  return true
end
