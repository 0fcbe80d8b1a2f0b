#!lua
-- bind: gives tokens to users, and leaves a note of every registration under way.
-- Keeps: a token belongs to one user; an older registration never undoes a newer one. A note holds all that is needed
-- to end its registration, so anybody can.
-- KEYS 1 owner, 2 moving
-- ARGV three each: raw token, 'at:user', the note
-- A note stands under: u16 length of the old user (0: nobody else had it), old user, u16 length of the new user, new
-- user, u48 at, raw token: no two registrations share one.
-- Returns for each: false when a newer owner stands, '' when nobody else had it, else the user that had it
local answers = {}
for i = 1, #ARGV, 3 do
  local asked_at, user = ARGV[i + 1]:match('^(%d+):(.*)$')
  local at = asked_at
  local known = redis.call('HGET', KEYS[1], ARGV[i])
  local known_at, known_user
  if known then known_at, known_user = known:match('^(%d+):(.*)$') end
  local answer = ''
  if known and known_user ~= user then
    if tonumber(known_at) > tonumber(at) then answer = false else answer = known_user end
  elseif known and tonumber(known_at) > tonumber(at) then
    at = known_at
  end
  if answer then
    redis.call('HSET', KEYS[1], ARGV[i], at .. ':' .. user)
    local field = struct.pack('>I2', #answer) .. answer .. struct.pack('>I2', #user) .. user
      .. struct.pack('>I6', tonumber(asked_at)) .. ARGV[i]
    redis.call('HSET', KEYS[2], field, ARGV[i + 2])
  end
  answers[#answers + 1] = answer
end
return answers
