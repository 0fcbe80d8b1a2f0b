#!lua
-- bind: records users as the owners of tokens in the owner index, the hash `owner`. Also writes a note from which any
-- worker can complete these registrations.
-- Invariant: a token belongs to one user. An older registration never replaces a newer one. A registration also changes
-- nothing if the token was removed at the same or a later time. If two registrations have the same time, the user with
-- the greater id gets the token. If they have no time (0), the later call wins.
-- This script is the first step of a registration; `upsert` then writes the device. The note also includes
-- registrations that the owner index already had, because `upsert` writes their devices too. Until then, another
-- registration may take the token.
-- KEYS 1 owner, 2 moving, 3 taken, 4 removals
-- ARGV 1 unique name of the note
--      2 the registrations in the format of a note: for each u16 length and user, device record, u32 length and
--        attributes
--      then two values for each registration: token, 'registeredAt:user'
-- A note is: u32 length of ARGV 2, ARGV 2, then an entry for each token that had an owner before: u16 place of the
-- registration from 0, then u16 length and name of the previous owner, or 0xffff if a newer registration or removal
-- exists.
-- Returns the number of tokens of this partition that were taken from users so far (-1: this call names a token twice,
-- so the caller must check the owners again). Then two values for each registration that took a token from a user or
-- changed nothing: its place from 0, and the user who had the token (false: a newer registration or removal exists)
local tokens, count = {}, 0
for i = 3, #ARGV, 2 do
  count = count + 1
  tokens[count] = ARGV[i]
end
local known = redis.call('HMGET', KEYS[1], unpack(tokens))
local now, fields, rest, answer = {}, {}, {}, {0}
local taken, refused, again = 0, 0, false
-- For each token, the time since which no user has it (`removed`), and the time at which its last owner had registered
-- it (`left`).
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
  -- The new entry of the index, and the previous owner: false if a newer registration or removal exists.
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
