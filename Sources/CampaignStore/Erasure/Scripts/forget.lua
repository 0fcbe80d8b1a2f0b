#!lua flags=allow-oom
-- forget: removes data that a partition retains only because events may arrive late.
-- Invariant: data stays for the whole retention time. Attributes and `pressure` records of a user are removed only if
-- the user has no device.
-- KEYS 1 removals, 2 erased, 3 retained, 4 users, 5 attributes, 6 pressure, 7... `stated` of segments and suppression
--      lists: the times of changes of their members
-- ARGV 1 retention time in ms, 2 maximum number of entries to remove from each sorted set
-- Returns the number of removed entries
local before = string.format('(%.0f', clock() - ARGV[1])
local forgotten = 0
for i = 1, #KEYS do
  if i < 4 or i > 6 then
    local names = redis.call('ZRANGEBYSCORE', KEYS[i], '-inf', before, 'LIMIT', 0, ARGV[2])
    if #names > 0 then
      if i == 3 then
        local listed, gone = redis.call('SMISMEMBER', KEYS[4], unpack(names)), {}
        for k = 1, #names do if listed[k] == 0 then gone[#gone + 1] = names[k] end end
        if #gone > 0 then
          redis.call('HDEL', KEYS[5], unpack(gone))
          redis.call('HDEL', KEYS[6], unpack(gone))
        end
      end
      forgotten = forgotten + redis.call('ZREM', KEYS[i], unpack(names))
    end
  end
end
return forgotten
