#!lua
-- bind: gives tokens to users, and leaves a note of the registrations under way.
-- Invariant: a token belongs to one user; an older registration never undoes a newer one, nor a removal that is as old or
-- newer. Of two registrations of the same time the user whose id is greater has the token; where there is no time (0),
-- the one that comes later. A note holds all that is needed to end its registrations, so anybody can: those that the
-- index knows already, too, because their devices are written all the same, and the token may be another user's by
-- then.
-- KEYS 1 owner, 2 moving, 3 taken, 4 removals
-- ARGV 1 the note's name, which no other has, 2 the registrations as a note has them, then two each: raw token,
-- 'at:user'
-- A note is: u32 length of ARGV 2, ARGV 2, then what is not a first registration: u16 its place from 0, and u16 length
-- and name of the user that had the token; or 0xffff, where something newer stands.
-- Returns how often tokens of this partition were taken from users so far (-1: look again), then two each: place from 0
-- of what is not simply the user's, and false when something newer stands, else the user that had it
local tokens, count = {}, 0
for i = 3, #ARGV, 2 do
  count = count + 1
  tokens[count] = ARGV[i]
end
local known = redis.call('HMGET', KEYS[1], unpack(tokens))
local now, fields, rest, answer = {}, {}, {}, {0}
local taken, refused, again = 0, 0, false
-- When nobody had the token, and when it was registered last by who lost it.
local removed, left
if redis.call('EXISTS', KEYS[4]) == 1 then
  local members = {}
  for i = 1, count do
    members[i] = removal('u', tokens[i])
    members[count + i] = removal('o', tokens[i])
  end
  local scores = redis.call('ZMSCORE', KEYS[4], unpack(members))
  removed, left = {}, {}
  for i = 1, count do
    removed[i] = tonumber(scores[i] or nil)
    left[i] = tonumber(scores[count + i] or nil)
  end
end
for i = 1, count do
  local token, asked = tokens[i], ARGV[2 * i + 2]
  local owned = now[token] or known[i]
  -- What the index is to say, and who had the token: false where a newer owner stands.
  local entry, old = asked, ''
  local is_void = false
  if removed and (removed[i] or left[i]) and owned ~= asked then
    local at = asked:match('^%d+') + 0
    is_void = removed[i] and at <= removed[i] or left[i] and at < left[i]
  end
  if is_void then
    entry, old = owned, false
    answer[#answer + 1] = i - 1
    answer[#answer + 1] = false
  elseif owned and owned ~= asked then
    local known_at, known_user = owned:match('^(%d+):(.*)$')
    local at, user = asked:match('^(%d+):(.*)$')
    known_at, at = tonumber(known_at), tonumber(at)
    local is_newer = known_at > at or known_at == at and at > 0 and known_user > user
    if is_newer then entry = owned end
    if known_user ~= user then
      again = again or now[token] ~= nil
      old = not is_newer and known_user
      if old then taken = taken + 1 end
      answer[#answer + 1] = i - 1
      answer[#answer + 1] = old
    end
  end
  now[token] = entry or nil
  if entry and entry ~= owned then
    fields[#fields + 1] = token
    fields[#fields + 1] = entry
  end
  if not old then
    refused = refused + 1
    rest[#rest + 1] = struct.pack('>I2I2', i - 1, 0xffff)
  elseif old ~= '' then
    rest[#rest + 1] = struct.pack('>I2I2', i - 1, #old) .. old
  end
end
if #fields > 0 then redis.call('HSET', KEYS[1], unpack(fields)) end
if refused < count then
  redis.call('HSET', KEYS[2], ARGV[1], struct.pack('>I4', #ARGV[2]) .. ARGV[2] .. table.concat(rest))
end
if taken > 0 then
  answer[1] = redis.call('INCRBY', KEYS[3], taken)
else
  answer[1] = tonumber(redis.call('GET', KEYS[3]) or 0)
end
if again then answer[1] = -1 end
return answer
