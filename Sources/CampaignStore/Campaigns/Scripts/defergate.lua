#!lua flags=allow-oom
-- defergate: looks at a campaign's gate later.
-- Invariant: a look that became due while the caller looked is not put off.
-- KEYS 1 gates
-- ARGV 1 id, 2 when the caller found it due, 3 when it is looked at next ('': never again)
-- Returns 1, or 0 when it is due at another time by now
if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or -1) ~= tonumber(ARGV[2]) then return 0 end
if ARGV[3] == '' then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'XX', ARGV[3], ARGV[1])
end
return 1
