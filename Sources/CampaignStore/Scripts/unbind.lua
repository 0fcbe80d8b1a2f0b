#!lua
-- unbind: removes tokens from the index of owners, unless a newer registration stands.
-- Keeps: the owner index follows the device records, and is never ahead of them.
-- KEYS 1 owner, 2 taken
-- ARGV three each, of at most 500 tokens: raw token, user, instant in ms: removed when it is this user's and not newer
-- Returns the number removed
local tokens, gone = {}, {}
for i = 1, #ARGV, 3 do tokens[#tokens + 1] = ARGV[i] end
local entries = redis.call('HMGET', KEYS[1], unpack(tokens))
for i = 1, #tokens do
  local entry, user, instant = entries[i], ARGV[3 * i - 1], ARGV[3 * i]
  if entry then
    local colon = entry:find(':', 1, true)
    if entry:sub(colon + 1) == user and entry:sub(1, colon - 1) + 0 <= instant + 0 then gone[#gone + 1] = tokens[i] end
  end
end
if #gone == 0 then return 0 end
local removed = redis.call('HDEL', KEYS[1], unpack(gone))
if removed > 0 then redis.call('INCRBY', KEYS[2], removed) end
return removed
