#!lua flags=allow-oom
-- defergate: sets the time of the next check of a campaign's gate.
-- Invariant: if the gate has got a new due time during the caller's check, that due time stays.
-- KEYS 1 gates
-- ARGV 1 id, 2 due time that the caller found, 3 time of the next check ('': none)
-- Returns 1, or 0 if the due time has changed
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'XX', ARGV[3], ARGV[1])
end
return 1
