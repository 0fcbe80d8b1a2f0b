-- Functions shared by the scripts that compare the times of events about users and devices. The loader puts this file
-- in front of these scripts.
-- The sorted sets `removals` and `erased` have the times of past events (ms). A member of `removals` is a letter and a
-- digest, never an id. For each letter, this list has the digested values and the meaning of the time:
--      d (user and token): since this time, the user does not have the device.
--      x (user and app): at this time, the user logged in on one device of an app that allows one device for each user.
--      u (token): since this time, no user has the device.
--      o (token): at this time, the last owner of the token registered it, before the owner lost it.
-- A member of `erased` is the digest of an erased user.

local function digest(text) return redis.sha1hex(text):sub(1, 24) end
local function removal(kind, a, b) return kind .. digest(b and a .. '\0' .. b or a) end

-- Returns a table with the time of each user's erasure, by user: at most 500 users. A user who was not erased in the
-- last 30 days has no entry.
local function erasures(erased, names)
  local times = {}
  if #names == 0 or redis.call('EXISTS', erased) == 0 then return times end
  local members = {}
  for i = 1, #names do members[i] = digest(names[i]) end
  local scores = redis.call('ZMSCORE', erased, unpack(members))
  for i = 1, #names do times[names[i]] = tonumber(scores[i] or nil) end
  return times
end

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Retains the attributes and `pressure` records of users without a device until `forget` removes them: at most 500
-- users.
local function retain(retained, names)
  local now, members = clock(), {}
  for i = 1, #names do
    members[2 * i - 1] = now
    members[2 * i] = names[i]
  end
  if #names > 0 then redis.call('ZADD', retained, 'NX', unpack(members)) end
end
