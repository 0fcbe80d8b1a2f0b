-- Shared by the scripts that take devices from users or put users on a suppression list; the loader puts it in front
-- of them.
-- Targets that were sealed before may be invalid from then on. The hash of departures has their number in `n`, and
-- under 0 to 99 the last users; `grant.lua` compares the number with that of the slice.

-- Counts departures of these users.
local function depart(departures, users)
  if #users == 0 then return end
  local number, fields = redis.call('HINCRBY', departures, 'n', #users), {}
  for i = math.max(1, #users - 99), #users do
    fields[#fields + 1] = (number - #users + i) % 100
    fields[#fields + 1] = users[i]
  end
  redis.call('HSET', departures, unpack(fields))
end

-- Counts departures of users whose names are not remembered: after so many, every target is looked at.
local function depart_unnamed(departures) redis.call('HINCRBY', departures, 'n', 101) end

-- What stands for a user who was erased: '\0', u16 length and last byte of the id, and 20 hex digits of its SHA-1.
local function erased_name(user)
  return '\0' .. struct.pack('>I2', #user) .. user:sub(-1) .. redis.sha1hex(user):sub(1, 20)
end

-- Forgets the name of a user among the last, who is being erased.
local function forget_departed(departures, user)
  local known, fields = redis.call('HGETALL', departures), {}
  for i = 1, #known, 2 do
    if known[i] ~= 'n' and known[i + 1] == user then
      fields[#fields + 1] = known[i]
      fields[#fields + 1] = erased_name(user)
    end
  end
  if #fields > 0 then redis.call('HSET', departures, unpack(fields)) end
end
