#!lua
-- putinforce: replaces a segment or suppression list by an imported list, in one partition, after the import is
-- complete.
-- Invariant: the imported list is a statement about all users, with a time of its own. A statement says who is in the
-- list. Three statements about single users win over the imported list: a later statement, an opt-out with the same
-- time, and an opt-out that arrived since the import began, whatever its time. If the present list was replaced as a
-- whole at a later time, it stays in force. The new list does not contain a user who was erased since the time of the
-- list. A second run of the same call changes nothing, because the first run removed the marker.
-- KEYS 1 present list, 2 imported list, with the member '' as a marker, 3 times of the statements about the list
--      (`stated`), 4 erased; only for a suppression list: 5 departures, 6 arrivals
-- ARGV 1 time of the imported list (ms since the epoch)
--      2 seconds until the times in KEYS 3 expire, if the list is being removed; else ''
--      3 start of the import (ms since the epoch)
-- Returns 1, or 0 if a newer list is in force
if redis.call('SREM', KEYS[2], '') == 0 then return 1 end
local at = tonumber(ARGV[1])
local known = (redis.call('ZSCORE', KEYS[3], '') or -1) + 0
if known > at then
  redis.call('UNLINK', KEYS[2])
  return 0
end
local function each_page(names, body)
  for first = 1, #names, 500 do
    local page = {unpack(names, first, math.min(first + 499, #names))}
    body(page)
  end
end
each_page(redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[1], '+inf'), function(page)
  local inside, joined, left = redis.call('SMISMEMBER', KEYS[1], unpack(page)), {}, {}
  for i = 1, #page do
    local group = inside[i] == 1 and joined or left
    group[#group + 1] = page[i]
  end
  if #joined > 0 then redis.call('SADD', KEYS[2], unpack(joined)) end
  if #left > 0 then redis.call('SREM', KEYS[2], unpack(left)) end
end)
if KEYS[5] then
  each_page(redis.call('ZRANGEBYSCORE', KEYS[3], ARGV[1], ARGV[1]), function(page)
    local inside, joined = redis.call('SMISMEMBER', KEYS[1], unpack(page)), {}
    for i = 1, #page do if inside[i] == 1 then joined[#joined + 1] = page[i] end end
    if #joined > 0 then redis.call('SADD', KEYS[2], unpack(joined)) end
  end)
end
if KEYS[6] then
  each_page(redis.call('ZRANGEBYSCORE', KEYS[6], ARGV[3], '+inf'), function(page)
    local inside, kept = redis.call('SMISMEMBER', KEYS[1], unpack(page)), {}
    for i = 1, #page do if inside[i] == 1 then kept[#kept + 1] = page[i] end end
    if #kept > 0 then redis.call('SADD', KEYS[2], unpack(kept)) end
  end)
end
-- Users are rarely erased during an import.
if redis.call('ZCOUNT', KEYS[4], ARGV[1], '+inf') > 0 then
  each_page(redis.call('SMEMBERS', KEYS[2]), function(page)
    local erasure, left = erasures(KEYS[4], page), {}
    local times = redis.call('ZMSCORE', KEYS[3], unpack(page))
    for i = 1, #page do
      local erased_at = erasure[page[i]]
      if erased_at and erased_at >= at and erased_at >= (times[i] or -1) + 0 then left[#left + 1] = page[i] end
    end
    if #left > 0 then redis.call('SREM', KEYS[2], unpack(left)) end
  end)
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('PERSIST', KEYS[1])
else
  redis.call('UNLINK', KEYS[1])
end
if KEYS[5] then depart_unnamed(KEYS[5]) end
redis.call('ZADD', KEYS[3], at, '')
if ARGV[2] == '' then redis.call('PERSIST', KEYS[3]) else redis.call('EXPIRE', KEYS[3], ARGV[2]) end
return 1
