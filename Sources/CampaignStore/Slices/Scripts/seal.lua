#!lua
-- seal: makes the list that was built under a claim the slice's final list of targets.
-- Invariant: only the owner of the claim seals, and only its own list. Sealed targets are immutable, and the slice's
-- count is their number. The list is named after the claim that sealed it: if Redis loses the seal, the next list may
-- have another order.
-- The script stores the version of targets and ledger; a worker that can't read that version does not touch the slice.
-- If targets have their own send times, none is ready until the first of these times (see `commit`).
-- The slice also stores the number of departures from before the expansion. `commit` compares with it to find out
-- whether targets may have become invalid since.
-- In the same step the control group is sealed and counted. Its users are not targets.
-- KEYS 1 slice, 2 building, of this claim, 3 targets, 4 control group, of this claim, 5 control group
-- ARGV 1 claim id
--      2 number of targets
--      3 number of their pages
--      4 lease ms
--      5 version of targets and ledger
--      6 number of users in the control group
--      7 number of their pages
--      8 send times of the targets (`SendTimes`; '' for immediately)
--      9 number of departures before the expansion (-1: unknown)
--      10... fields and values of counts: the targets of each variant, the users who are reached, and the users who are
--        left out, by reason (`AudienceCount`)
-- Returns 1, or -1 if the claim is stale or the list is not as its builder expects
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
