#!lua
-- upsert: writes devices into their users' records.
-- Keeps: one record a token and user; the later `registeredAt` stands, with the attributes that came with it. Only a
-- later registration ends a quarantine: the same import once more does not. A user has a bounded number of devices:
-- for a new one the one leaves that was seen longest ago (it was seen when it registered), then the one that
-- registered first, then the first of the record. With a new device those of Live Activities leave that registered
-- more than two days before it: no activity lasts that long, and nothing else ends their tokens. Stops where the
-- records together become so large that others would wait for it.
-- KEYS 1 devices, 2 users, 3 attributes, 4 quarantine
-- ARGV 1 devices of a user at most, then three each: user, device record, attributes as JSON ('' leaves them as they
-- are)
-- Returns how many are done, then two each: user, and the record of a device that left
local page, largest_page, most = 2, 32, 131072
local live_activity, activity_lifetime = 9, 172800000
local limit = tonumber(ARGV[1])
local answer = {0}

-- The record without the device that has to leave first; and that device.
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

-- The record without devices of Live Activities that are over; and those.
local function without_ended_activities(blob, now)
  local at, kept, ended = 1, nil, {}
  while at < #blob do
    local behind = at + 2 + struct.unpack('>I2', blob, at)
    if blob:byte(at + 4) == live_activity and registered_at(blob, at) < now - activity_lifetime then
      kept = kept or {blob:sub(1, at - 1)}
      ended[#ended + 1] = blob:sub(at, behind - 1)
    elseif kept then
      kept[#kept + 1] = blob:sub(at, behind - 1)
    end
    at = behind
  end
  return kept and table.concat(kept) or blob, ended
end

local function token_of(record)
  return record:sub(20, 19 + struct.unpack('>I2', record, 18))
end

-- Tells of a device that has left.
local function left(user, device)
  if flags_of(device, 1) == 1 then remove_note(KEYS[4], user, token_of(device)) end
  answer[#answer + 1] = user
  answer[#answer + 1] = device
end

-- The user's record with the device in it, and whether that is older than what is known.
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
  local ended
  blob, ended = without_ended_activities(blob, registered_at(record, 1))
  for i = 1, #ended do left(user, ended[i]) end
  blob = blob .. record
  for _ = limit + 1, count_devices(blob) do
    local leaves
    blob, leaves = without_oldest(blob)
    left(user, leaves)
  end
  return blob, false
end

local place, bytes = 2, 0
while place <= #ARGV and bytes < most do
  local last = math.min(place + 3 * page - 1, #ARGV)
  local names = {}
  for i = place, last, 3 do names[#names + 1] = ARGV[i] end
  local known = redis.call('HMGET', KEYS[1], unpack(names))
  local was, now, order, fields, joined, given = {}, {}, {}, {}, {}, {}
  for i = 1, #names do
    local user = names[i]
    local record, attributes = ARGV[place + 3 * i - 2], ARGV[place + 3 * i - 1]
    local blob, older = now[user], false
    if not blob then
      blob = known[i] or ''
      was[user] = blob
      order[#order + 1] = user
    end
    if blob == '' then
      blob = record
    elseif blob ~= record then
      blob, older = with_device(user, blob, record)
    end
    now[user] = blob
    if not older and attributes ~= '' then
      given[#given + 1] = user
      given[#given + 1] = attributes
    end
    bytes = bytes + #blob
    if bytes >= most then
      last = place + 3 * i - 1
      break
    end
  end
  for i = 1, #order do
    local user = order[i]
    if now[user] ~= was[user] then
      fields[#fields + 1] = user
      fields[#fields + 1] = now[user]
    end
    if was[user] == '' then joined[#joined + 1] = user end
  end
  if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
  if #joined > 0 then redis.call('SADD', KEYS[2], unpack(joined)) end
  if #given > 0 then redis.call('HSET', KEYS[3], unpack(given)) end
  place = last + 1
  -- No more records are read at once than, by those so far, are half of what may still be written.
  page = math.floor((most - bytes) * (place - 2) / 3 / bytes / 2)
  page = math.max(1, math.min(largest_page, page))
end
answer[1] = (place - 2) / 3
return answer
