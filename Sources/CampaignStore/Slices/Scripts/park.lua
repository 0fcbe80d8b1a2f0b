#!lua flags=allow-oom
-- park: moves a slice to the parked slices until its next retry is due or until another worker's lease expires.
-- Invariant: every unfinished slice has a reference ('partition:campaign id') in a list. A parked slice is in no
-- worker's processing list, and `requeue` opens it when it is due. The script parks a slice of a cancelled campaign
-- only if another worker has claimed it; otherwise the caller must close the slice.
-- KEYS 1 processing list of the worker, 2 parked slices, 3 campaign
-- ARGV 1 reference to the slice, 2 ms until the slice is due, 3 '1' if another worker has claimed the slice, else '0'
-- Returns 1, or 0 if the slice is not parked because the campaign was cancelled
if ARGV[3] == '0' and redis.call('HGET', KEYS[3], 'state') == 'cancelled' then return 0 end
local time = redis.call('TIME')
redis.call('LREM', KEYS[1], 0, ARGV[1])
redis.call('ZADD', KEYS[2], time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[2]), ARGV[1])
return 1
