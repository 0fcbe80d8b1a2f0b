#!lua flags=allow-oom
-- housekeep: makes a worker the maintenance leader or renews its lease, publishes the leader's signal to all workers,
-- and returns due work. The maintenance leader is the worker that runs the housekeeping tasks.
-- Redis sends the signal to each worker, which costs time. The leader therefore sends it less often while no campaign
-- runs.
-- Invariant: there is one maintenance leader at a time, or for a moment two. Two do no harm, because any worker may run
-- housekeeping tasks at the same time as others. The leader keeps the lease until the lease expires or the leader is
-- known to be dead. The size of the reply does not depend on the number of workers. When a job becomes the next in
-- turn, the script records the time, so that `oldest` can return since when the job has been the next one.
-- KEYS 1 maintenance leader, 2 workers, 3 parked slices, 4 ended campaigns, 5 schedule, 6 control epoch,
--      7 housekeeping, 8 wake channel, 9 running campaigns, 10 registrations, 11 receipts, 12 producers' list,
--      13 gates, 14... lanes
-- ARGV 1 instance of the worker
--      2 ms that the lease lasts
--      3 instance that is known to be dead ('' for none)
--      4 ms without a heartbeat after which a worker counts as dead
--      5 maximum number of workers, of slices and of scheduled campaigns to return
--      6 ms until the next signal while a campaign runs
--      7 ms until the next signal while no campaign runs ('' if this call then sends no signal)
-- Returns false if another worker has the lease, or an array:
--      Redis' time in ms
--      {workers that count as dead}
--      {references to parked slices that are due: 'partition:campaign id'}
--      {the campaign in the list of ended campaigns that ended first, if it ended at least ARGV 4 ms ago}
--      {scheduled campaigns that are due}
--      ms until the next scheduled campaign or gate is due (-1: none)
--      {fields and values of housekeeping}
--      number of waiting registrations
--      number of waiting receipts
--      {campaigns whose gates are due, each followed by its due time: at most 16}
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and holder ~= ARGV[3] then return false end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local expired = now - tonumber(ARGV[4])
local campaigns = 0
for i = 14, #KEYS do campaigns = campaigns + redis.call('LLEN', KEYS[i]) end
local next_beat = (campaigns > 0 or redis.call('SCARD', KEYS[9]) > 0) and ARGV[6] or ARGV[7]
if next_beat ~= '' then
  redis.call('PUBLISH', KEYS[8], 'beat ' .. campaigns .. ' ' .. (redis.call('GET', KEYS[6]) or 0) .. ' ' .. next_beat)
end
local waiting = {0, 0, 0}
if redis.call('EXISTS', KEYS[10], KEYS[11], KEYS[12]) > 0 then
  for i = 1, 3 do waiting[i] = redis.call('LLEN', KEYS[i + 9]) end
end
local notes = redis.call('HGETALL', KEYS[7])
local noted
for i = 1, #notes, 2 do if notes[i] == 'nextJob' then noted = notes[i + 1] end end
if waiting[3] > 0 then
  local job = redis.call('LINDEX', KEYS[12], -1)
  local name = #job .. ' ' .. redis.sha1hex(job:sub(1, 1024))
  if name ~= noted then redis.call('HSET', KEYS[7], 'nextJob', name, 'nextJobSince', now) end
elseif noted then
  redis.call('HDEL', KEYS[7], 'nextJob', 'nextJobSince')
end
local ahead = -1
for i = 5, 13, 8 do
  local next_one = redis.call('ZRANGEBYSCORE', KEYS[i], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)[2]
  if next_one and (ahead < 0 or next_one - now < ahead) then ahead = next_one - now end
end
return {now, redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', expired, 'LIMIT', 0, ARGV[5]),
  redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, ARGV[5]),
  redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', expired, 'LIMIT', 0, 1),
  redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, ARGV[5]), ahead, notes, waiting[1], waiting[2],
  redis.call('ZRANGEBYSCORE', KEYS[13], '-inf', now, 'WITHSCORES', 'LIMIT', 0, 16)}
