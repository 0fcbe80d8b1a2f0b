#!lua
-- store: writes devices into their users' records.
-- Keeps: one record a token and user; the later `registeredAt` stands.
-- KEYS 1 devices, 2 users, 3 attributes
-- ARGV four each: user, raw token, device record, attributes as JSON ('' leaves them as they are)
-- Returns the number of devices that are new to their user
local new = 0
for i = 1, #ARGV, 4 do
  local user, token, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local blob = redis.call('HGET', KEYS[1], user) or ''
  local at, behind, times = find_device(blob, token)
  if not at then
    blob = blob .. record
    new = new + 1
  elseif struct.unpack('>I6', blob, times) <= struct.unpack('>I6', record, 4 + #token) then
    blob = blob:sub(1, at - 1) .. record .. blob:sub(behind)
  end
  redis.call('HSET', KEYS[1], user, blob)
  redis.call('SADD', KEYS[2], user)
  if ARGV[i + 3] ~= '' then redis.call('HSET', KEYS[3], user, ARGV[i + 3]) end
end
return new
