#!lua
-- seal: makes the list of targets that a worker has written final.
-- Invariant: only the owner of the claim can seal its list. Sealed targets never change, and the slice's count is their
-- number. The id of the claim is the seal id of the list. If Redis loses the sealed list, the next list has another
-- seal id, because its targets may be in another order.
-- The script stores the version of the targets and the ledger. A worker that can't read that version does not claim the
-- slice. If targets have their own send times, `commit` grants none before the first of these times.
-- The slice also stores the number of departures before the expansion (`departures.lua`). `commit` compares this number
-- with the current one. If they differ, some targets may have become invalid.
-- The script also seals and counts the control group. Its users are not targets.
-- KEYS 1 slice, 2 unsealed targets of this claim, 3 targets, 4 control group, of this claim, 5 control group
-- ARGV 1 claim id
--      2 number of targets
--      3 number of their pages
--      4 lease ms
--      5 version of targets and ledger
--      6 number of users in the control group
--      7 number of their pages
--      8 send times of the targets (`SendTimes`; '' for immediately)
--      9 number of departures before the expansion (-1: unknown)
--      10... fields and values of counts: targets of each variant, users reached, and users left out by reason
--        (`AudienceCount`)
-- Returns 1, or -1 if the worker has lost the claim or if the list does not have the length of ARGV 2 and 3
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase', 'count')
if slice[1] ~= ARGV[1] then return -1 end
local count = tonumber(ARGV[2])
if slice[2] == 'sealed' then return tonumber(slice[3]) == count and 1 or -1 end
if redis.call('LLEN', KEYS[2]) ~= ARGV[3] + 1 then return -1 end
if ARGV[6] ~= '0' and redis.call('LLEN', KEYS[4]) ~= tonumber(ARGV[7]) then return -1 end
redis.call('LPOP', KEYS[2])
if count > 0 then
  redis.call('RENAME', KEYS[2], KEYS[3])
  redis.call('PERSIST', KEYS[3])
end
if ARGV[6] ~= '0' then
  redis.call('RENAME', KEYS[4], KEYS[5])
  redis.call('PERSIST', KEYS[5])
  redis.call('HSET', KEYS[1], 'control', ARGV[6])
end
local time = redis.call('TIME')
redis.call('HSET', KEYS[1], 'phase', 'sealed', 'seal', ARGV[1], 'count', count, 'format', ARGV[5],
  'departed', ARGV[9], 'lease', time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[4]))
if ARGV[8] ~= '' then
  local _, due = struct.unpack('>I4I6', ARGV[8], 5)
  redis.call('HSET', KEYS[1], 'times', ARGV[8], 'ready', 0, 'readyAt', due)
end
if ARGV[10] then redis.call('HSET', KEYS[1], unpack(ARGV, 10)) end
return 1
