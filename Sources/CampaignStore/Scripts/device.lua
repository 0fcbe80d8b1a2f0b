-- Shared by the scripts that edit device records; the loader puts it in front of them.
-- A user's devices stand one behind the other in one value. A device is: u16 length of the rest, u8 token length,
-- token, u48 registeredAt (ms), u48 lastSeen (ms), u8 flags (1: quarantined), then six names, each u8 length and text.

-- Finds a device: where it begins, where the next one would, where its registeredAt stands; nil when it isn't there.
local function find_device(blob, token)
  local at = 1
  while at < #blob do
    local behind = at + 2 + struct.unpack('>I2', blob, at)
    local times = at + 3 + blob:byte(at + 2)
    if blob:sub(at + 3, times - 1) == token then return at, behind, times end
    at = behind
  end
end

-- A record or blob with other flags for the device whose registeredAt stands at `times`.
local function with_flags(blob, times, flags)
  return blob:sub(1, times + 11) .. string.char(flags) .. blob:sub(times + 13)
end

local function write_devices(devices, users, user, blob)
  if blob == '' then
    redis.call('HDEL', devices, user)
    redis.call('SREM', users, user)
  else
    redis.call('HSET', devices, user, blob)
  end
end

-- Prunes, quarantines or releases one device, unless it registered after `instant` (ms). Returns whether it changed.
-- What is in quarantine has a note there, why and since when.
local function edit_device(devices, users, quarantine, user, token, action, instant, note)
  local blob = redis.call('HGET', devices, user) or ''
  local at, behind, times = find_device(blob, token)
  if not at then redis.call('HDEL', quarantine, token) end
  if not at or struct.unpack('>I6', blob, times) > instant then return false end
  local known_flags = blob:byte(times + 12)
  if action == 'prune' then
    blob = blob:sub(1, at - 1) .. blob:sub(behind)
  else
    local flags = action == 'quarantine' and 1 or 0
    if known_flags == flags then return false end
    blob = with_flags(blob, times, flags)
  end
  write_devices(devices, users, user, blob)
  if action == 'quarantine' then
    redis.call('HSET', quarantine, token, note)
  elseif known_flags == 1 then
    redis.call('HDEL', quarantine, token)
  end
  return true
end
