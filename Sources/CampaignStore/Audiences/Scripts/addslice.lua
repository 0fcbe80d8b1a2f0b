#!lua flags=allow-oom
-- addslice: adds a slice to a campaign that began without a slice in this partition.
-- Invariant: every sealed slice is counted. Redis may lose the beginning of a campaign and the users of a partition.
-- The campaign then begins again without a slice in this partition. A worker that replays its slice of the partition
-- calls this script first. If the campaign has ended, the script makes it active again until that slice is finished
-- too.
-- KEYS 1 campaign, 2 finished slices, 3 running campaigns, 4 ended campaigns
-- ARGV 1 partition, 2 id of the campaign
-- Returns 1, or 0 if the campaign began with a slice in the partition
if not add_slice(KEYS[1], ARGV[1]) then return 0 end
redis.call('SETBIT', KEYS[2], ARGV[1], 0)
if redis.call('HDEL', KEYS[1], 'finishedAt') == 1 then
  local state = redis.call('HGET', KEYS[1], 'state')
  if state == 'completed' or state == 'failed' then redis.call('HSET', KEYS[1], 'state', 'active') end
  redis.call('PERSIST', KEYS[1])
  redis.call('PERSIST', KEYS[2])
  redis.call('ZREM', KEYS[4], ARGV[2])
  redis.call('SADD', KEYS[3], ARGV[2])
end
return 1
