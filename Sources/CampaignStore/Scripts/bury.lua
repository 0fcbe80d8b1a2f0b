#!lua
-- bury: moves a job that can't be run to the dead list, with the reason.
-- Keeps: a job is in the worker's list or in the dead list, never in neither. The list is bounded: oldest out first.
-- KEYS 1 dead list (a stream), 2 worker's intake
-- ARGV 1 job as taken, 2 reason, 3 hint, 4 entries kept
-- Returns the entry's key
redis.call('LREM', KEYS[2], 1, ARGV[1])
return redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[4], '*', 'reason', ARGV[2], 'hint', ARGV[3], 'job', ARGV[1])
