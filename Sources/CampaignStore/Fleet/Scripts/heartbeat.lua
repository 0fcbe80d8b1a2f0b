#!lua flags=allow-oom
-- heartbeat: records a heartbeat of a worker, and returns the state of the fleet.
-- Wake-up messages announce changes of this state, but a worker can lose such messages.
-- Invariant: all times are by Redis' clock, so workers' clocks don't matter. The cost does not depend on the number of
-- workers and campaigns.
-- KEYS 1 workers, 2 control epoch, 3 maintenance leader: the worker that runs the housekeeping tasks, 4 reports of
--      workers, 5 processing list of the worker, 6... lanes
-- ARGV 1 worker
--      2 ms without a heartbeat after which a worker counts as dead
--      3 report of the worker ('' if it has not changed: then the script does not write it)
-- Returns an array:
--      Redis' time in ms
--      number of live workers
--      number of lanes with campaigns
--      control epoch
--      1 if there is a maintenance leader, else 0
--      1 if the worker was not in the list of workers before this call, else 0
--      1 if the processing list of the worker has slices, else 0
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local added = redis.call('ZADD', KEYS[1], now, ARGV[1])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[4], ARGV[1], ARGV[3]) end
local words = redis.call('MGET', KEYS[2], KEYS[3])
return {now, redis.call('ZCOUNT', KEYS[1], '(' .. now - tonumber(ARGV[2]), '+inf'),
  redis.call('EXISTS', KEYS[6], unpack(KEYS, 7)), tonumber(words[1] or 0) or -1, words[2] and 1 or 0, added,
  redis.call('EXISTS', KEYS[5])}
