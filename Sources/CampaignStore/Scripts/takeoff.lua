#!lua flags=allow-oom
-- takeoff: takes events off a list that have been applied, and puts those on the dead list that
-- can't be.
-- Keeps: only the housekeeper reads the list, and only while it is that it takes anything off: an event leaves when it
-- has been applied by whoever takes it off. The dead list is bounded, oldest out first.
-- KEYS 1 the list, 2 housekeeper, 3 dead list (a stream)
-- ARGV 1 instance of the worker, 2 how many, the oldest, 3 entries kept on the dead list, 4 name of the list, then
--      three each: event, reason, hint
-- Returns 1, or 0 when another is the housekeeper
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
for i = 5, #ARGV, 3 do
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', ARGV[3], '*', 'list', ARGV[4], 'reason', ARGV[i + 1],
    'hint', ARGV[i + 2], 'id', '', 'size', #ARGV[i], 'job', ARGV[i])
end
redis.call('LTRIM', KEYS[1], 0, -1 - ARGV[2])
return 1
