#!lua
-- setbadges: sets the badges of users, as their apps say.
-- Keeps: nothing is counted for who has no device.
-- KEYS 1 pressure, 2 users
-- ARGV three each: user, app, badge
-- Returns how many were set
local set = 0
for i = 1, #ARGV, 3 do
  local user, app = ARGV[i], ARGV[i + 1]
  if redis.call('SISMEMBER', KEYS[2], user) == 1 then
    local record = redis.call('HGET', KEYS[1], user) or ''
    local front, _, times, behind = pressure_parts(record, app)
    local after = pressure_record(front, app, tonumber(ARGV[i + 2]), times, behind)
    if after == '' then
      redis.call('HDEL', KEYS[1], user)
    elseif after ~= record then
      redis.call('HSET', KEYS[1], user, after)
    end
    set = set + 1
  end
end
return set
