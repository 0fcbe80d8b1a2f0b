#!lua
-- putinforce: puts a list of users that was read in whole in the place of the one in force, in one partition.
-- Keeps: the new list is a statement about everybody at the time when its import began. What was said later of a user
-- stands; so does a list that is newer as a whole. Who was erased since then is not in it. Done again it changes
-- nothing.
-- KEYS 1 list, 2 what was read in, 3 times of the list, 4 erased, and for a suppression list 5 departures
-- ARGV 1 when the import began (ms), 2 seconds for which the times of a list are kept that is removed, else ''
-- Returns 1, or 0 when that list, or a newer one, stands
local at = tonumber(ARGV[1])
local known = (redis.call('ZSCORE', KEYS[3], '') or -1) + 0
if known > at or known == at and ARGV[2] == '' then
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
-- Seldom anybody was erased in the meantime.
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
