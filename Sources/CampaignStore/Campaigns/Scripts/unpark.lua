#!lua flags=allow-oom
-- unpark: opens the parked slices of a cancelled campaign, so that workers close them now and not when they are due. A
-- slice is open if no worker has it. If the slices of an active campaign are parked until the campaign has its quotas
-- (see `quota`), the script opens them when the quotas are recorded.
-- Invariant: an unfinished slice is open, held by a worker, or parked. The script moves no slice of a campaign in
-- another state. A call handles a range of partitions. The ranges need not be handled in one step, because no slice of
-- a cancelled campaign is parked again.
-- KEYS 1 campaign, 2 lane, 3 open slices, 4 parked slices, 5 wake channel
-- ARGV 1 id of the campaign, 2 first partition, 3 last partition (at most 500 partitions), 4 '1' if the quotas of an
--      active campaign are recorded
-- Returns the number of opened slices
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'cancelled' and not (state == 'active' and ARGV[4] == '1') then return 0 end
local opened = 0
for partition = tonumber(ARGV[2]), tonumber(ARGV[3]) do
  if redis.call('ZREM', KEYS[4], partition .. ':' .. ARGV[1]) == 1 then
    redis.call('LREM', KEYS[3], 0, partition)
    redis.call('RPUSH', KEYS[3], partition)
    opened = opened + 1
  end
end
if opened > 0 then
  if not redis.call('LPOS', KEYS[2], ARGV[1]) then redis.call('RPUSH', KEYS[2], ARGV[1]) end
  redis.call('PUBLISH', KEYS[5], 'slices ' .. opened)
end
return opened
