#!lua flags=allow-oom
-- defergate: sets the time of the next check of a campaign's gate.
-- Invariant: if the due time in `gates` has changed since the caller read it, the script does not overwrite it.
-- KEYS 1 gates
-- ARGV 1 id of the campaign, 2 due time that the caller read, 3 time of the next check ('': no further check)
-- Returns 1, or 0 if the due time has changed
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'XX', ARGV[3], ARGV[1])
end
return 1
