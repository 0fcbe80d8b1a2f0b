#!lua flags=no-writes
-- view: reads a campaign and which of its slices its totals include.
-- Keeps: both are of one moment, so adding the slices that are not included counts none twice and leaves none out.
-- KEYS 1 campaign, 2 finished slices
-- Returns {fields and values, bitmap}
return {redis.call('HGETALL', KEYS[1]), redis.call('GET', KEYS[2]) or ''}
