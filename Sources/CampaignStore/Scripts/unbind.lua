#!lua
-- unbind: removes tokens from the index of owners, unless a newer registration stands.
-- Keeps: the owner index follows the device records, and is never ahead of them.
-- KEYS 1 owner, 2 taken
-- ARGV two each: raw token, 'at:user': removed when it is this user's and not newer
-- Returns the number removed
local removed = 0
for i = 1, #ARGV, 2 do
  local at, user = ARGV[i + 1]:match('^(%d+):(.*)$')
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  if known then
    local known_at, known_user = known:match('^(%d+):(.*)$')
    if known_user == user and tonumber(known_at) <= tonumber(at) then
      removed = removed + redis.call('HDEL', KEYS[1], ARGV[i])
    end
  end
end
if removed > 0 then redis.call('INCRBY', KEYS[2], removed) end
return removed
