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

-- Forgets the name of a user among the last.
local function forget_departed(departures, user)
  local known, places = redis.call('HGETALL', departures), {}
  for i = 1, #known, 2 do
    if known[i] ~= 'n' and known[i + 1] == user then places[#places + 1] = known[i] end
  end
  if #places == 0 then return end
  redis.call('HDEL', departures, unpack(places))
  depart_unnamed(departures)
end
