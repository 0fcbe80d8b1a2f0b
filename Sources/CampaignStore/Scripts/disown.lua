#!lua
-- disown: forgets who owns tokens, unless a newer registration stands.
-- Keeps: the owner index follows the device records, and is never ahead of them.
-- KEYS 1 owner
-- ARGV two each: raw token, 'at:user': forgotten when it is this user's and not newer
-- Returns the number forgotten
local forgotten = 0
for i = 1, #ARGV, 2 do
  local at, user = ARGV[i + 1]:match('^(%d+):(.*)$')
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  if known then
    local known_at, known_user = known:match('^(%d+):(.*)$')
    if known_user == user and tonumber(known_at) <= tonumber(at) then
      forgotten = forgotten + redis.call('HDEL', KEYS[1], ARGV[i])
    end
  end
end
return forgotten
