#!lua
-- upsert: writes devices into their users' records.
-- Keeps: one record a token and user; the later `registeredAt` stands, with the attributes that came with it. Only a
-- later registration ends a quarantine: the same import once more does not.
-- KEYS 1 devices, 2 users, 3 attributes, 4 quarantine
-- ARGV four each: user, raw token, device record, attributes as JSON ('' leaves them as they are)
-- Returns the number of devices that are new to their user
local new = 0
for i = 1, #ARGV, 4 do
  local user, token, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local blob = redis.call('HGET', KEYS[1], user)
  local at, behind
  if blob then at, behind = find_device(blob, token) end
  local older = false
  if not at then
    redis.call('HSET', KEYS[1], user, (blob or '') .. record)
    if not blob then redis.call('SADD', KEYS[2], user) end
    new = new + 1
  else
    local known_at, new_at = registered_at(blob, at), registered_at(record, 1)
    older = known_at > new_at
    if known_at == new_at then
      record = with_flags(record, 1, flags_of(blob, at))
    elseif known_at < new_at and flags_of(blob, at) == 1 then
      redis.call('HDEL', KEYS[4], token)
    end
    if not older then redis.call('HSET', KEYS[1], user, blob:sub(1, at - 1) .. record .. blob:sub(behind)) end
  end
  if not older and ARGV[i + 3] ~= '' then redis.call('HSET', KEYS[3], user, ARGV[i + 3]) end
end
return new
