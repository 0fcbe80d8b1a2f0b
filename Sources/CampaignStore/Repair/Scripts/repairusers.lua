#!lua flags=allow-oom
-- repairusers: compares the users, devices, attributes, `pressure` records and quarantine notes of a partition. Repairs
-- them if ARGV 1 is '1'.
-- Invariant: exactly the users with devices are in `users`. Only a user with devices or a retained user has attributes
-- and a `pressure` record. Exactly the devices with a note are quarantined. Every script that edits devices keeps these
-- rules, so a difference is not a change in progress.
-- KEYS 1 devices, 2 users, 3 attributes, 4 quarantine, 5 pressure, 6 retained
-- ARGV 1 '1' to repair, '0' to check only
--      2 code and 3 text of the reason for a quarantined device whose note is lost
--      4... users to check
-- Returns three values for each finding: a name, the user, the token ('' except for `noNote`). The names are:
--      'noDevices' if a user in `users` has no device
--      'notListed' if a user with devices is not in `users`
--      'attributes' or 'pressure' if a user who is neither retained nor has devices has this data
--      'noNote' if a quarantined device has no note
--      'unreadable' if the device records of a user can't be read
local repairs, found = ARGV[1] == '1', {}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function is_whole(blob)
  local at = 1
  while at <= #blob do
    if at + 18 > #blob then return false end
    local length, token = struct.unpack('>I2', blob, at), struct.unpack('>I2', blob, at + 17)
    if blob:byte(at + 2) ~= 1 or token == 0 or 17 + token > length or at + 1 + length > #blob then return false end
    at = at + 2 + length
  end
  return #blob > 0
end

local function note(what, user, token)
  found[#found + 1] = what
  found[#found + 1] = user
  found[#found + 1] = token or ''
end

-- Returns a new quarantine note for a device whose note is lost. It has the device's service and app, and the present
-- time.
local function lost_note(blob, at, token, user)
  local service = at + 19 + #token
  local app = service + 1 + blob:byte(service)
  return struct.pack('>I6', now) .. blob:sub(service, app + blob:byte(app)) .. '\0'
    .. struct.pack('>BBI6B', 1, ARGV[2], now, #ARGV[3]) .. ARGV[3] .. '\0\0' .. struct.pack('>I2', #user) .. user
end

for i = 4, #ARGV do
  local user = ARGV[i]
  local blob = redis.call('HGET', KEYS[1], user)
  local is_listed = redis.call('SISMEMBER', KEYS[2], user) == 1
  if not blob then
    if is_listed then
      note('noDevices', user)
      if repairs then redis.call('SREM', KEYS[2], user) end
    end
    local is_retained = redis.call('ZSCORE', KEYS[6], user)
    if not is_retained and redis.call('HEXISTS', KEYS[3], user) == 1 then
      note('attributes', user)
      if repairs then redis.call('HDEL', KEYS[3], user) end
    end
    if not is_retained and redis.call('HEXISTS', KEYS[5], user) == 1 then
      note('pressure', user)
      if repairs then redis.call('HDEL', KEYS[5], user) end
    end
  elseif not is_whole(blob) then
    note('unreadable', user)
  else
    if not is_listed then
      note('notListed', user)
      if repairs then redis.call('SADD', KEYS[2], user) end
    end
    local at = 1
    while at < #blob do
      local token = blob:sub(at + 19, at + 18 + struct.unpack('>I2', blob, at + 17))
      if flags_of(blob, at) == 1 and redis.call('HEXISTS', KEYS[4], token) == 0 then
        note('noNote', user, token)
        if repairs then redis.call('HSET', KEYS[4], token, lost_note(blob, at, token, user)) end
      end
      at = at + 2 + struct.unpack('>I2', blob, at)
    end
  end
end
return found
