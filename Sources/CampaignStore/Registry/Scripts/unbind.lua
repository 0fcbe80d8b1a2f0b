#!lua
-- unbind: removes tokens from the owner index (the hash `owner`), unless a newer registration exists.
-- Invariant: a device record changes first and the owner index later. The script records two times in `removals`: when
-- the last owner of a token had registered it, and since when no user has it. With these times, an older registration
-- that arrives later changes nothing.
-- KEYS 1 owner, 2 taken, 3 removals
-- ARGV four values for each of at most 500 tokens:
--      token
--      user
--      instant in ms: the script removes the token if this user has it and did not register it later
--      '1' if no user may have the token at that instant, '0' if only this user loses the token
-- Returns for each token 1 if it was removed, 2 if a newer registration exists, 0 if nothing changed; or the name of
-- another user who has the token and must lose it
local tokens, gone, marks, answer = {}, {}, {}, {}
for i = 1, #ARGV, 4 do tokens[#tokens + 1] = ARGV[i] end
local entries = redis.call('HMGET', KEYS[1], unpack(tokens))
for i = 1, #tokens do
  local entry, user, instant, of_all_users = entries[i], ARGV[4 * i - 2], ARGV[4 * i - 1] + 0, ARGV[4 * i] == '1'
  answer[i] = 0
  if of_all_users then
    local mark = removal('u', tokens[i])
    if (redis.call('ZSCORE', KEYS[3], mark) or 0) + 0 > instant then answer[i] = 2 end
    marks[#marks + 1] = instant
    marks[#marks + 1] = mark
  end
  if entry then
    local colon = entry:find(':', 1, true)
    local at, owner = entry:sub(1, colon - 1) + 0, entry:sub(colon + 1)
    if at > instant then
      if of_all_users or owner == user then answer[i] = 2 end
    elseif owner == user then
      gone[#gone + 1] = tokens[i]
      answer[i] = 1
      if not of_all_users and at > 0 then
        marks[#marks + 1] = at
        marks[#marks + 1] = removal('o', tokens[i])
      end
    elseif of_all_users then
      answer[i] = owner
    end
  end
end
if #marks > 0 then redis.call('ZADD', KEYS[3], 'GT', unpack(marks)) end
if #gone > 0 then
  local removed = redis.call('HDEL', KEYS[1], unpack(gone))
  if removed > 0 then redis.call('INCRBY', KEYS[2], removed) end
end
return answer
