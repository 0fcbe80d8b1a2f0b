#!lua flags=allow-oom
-- claim: makes a worker the owner of a slice, or says who is.
-- Invariant: one live claim a slice; the lease here is the only authority (lists and heartbeats are hints).
-- Before the seal nothing was sent, so a new owner starts the expansion over, in a list that carries its claim's name.
-- A claim that was not ended but ran out with targets in doubt counts as a death, until an outcome is recorded: by that
-- a slice shows that it kills its workers. Whoever holds the claim may claim again. During the grace period after a
-- failover a claim that ran out still holds: its owner could not renew it, and has commits to replay. A slice whose
-- targets and ledger are of another version is not claimed. Nor is one whose numbers can't be right, or whose list of
-- targets is not as long as they say. A lease of more than a day ahead is none that a worker has taken, and holds
-- nobody up.
-- KEYS 1 slice, 2 building, of this claim, 3 targets, 4 departures
-- ARGV 1 claim id, 2 worker, 3 lease ms, 4 ms of the grace period that are left (0: there is none), 5 version of
--      targets and ledger that the worker can read, 6 seconds after which a list that is not sealed expires, 7 targets
--      that a page can have
-- Returns {'done'} | {'held', ms left} | {'format', version} | {'claimed', phase, count, high-water mark, in doubt,
--          waiting, claims, now ms, seal, sequence, replays, deaths, bisected targets as 'first last' or
--          '', targets whose time has yet to come, when the targets may be sent or '',
--          departures from the partition so far}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local slice = redis.call('HMGET', KEYS[1], 'phase', 'claim', 'lease', 'count', 'granted', 'doubt', 'waiting', 'seal',
  'seq', 'deaths', 'bisected', 'replays', 'format', 'ready', 'times')
local phase = slice[1]
if phase == 'done' or phase == 'cancelled' then return {'done'} end
if phase == 'sealed' and slice[13] ~= ARGV[5] then return {'format', slice[13] or ''} end
local lease, deaths = tonumber(slice[3] or 0), tonumber(slice[10] or 0)
local count = tonumber(slice[4] or 0)
local seq, replays = tonumber(slice[9] or 0), tonumber(slice[12] or 0)
if not is_sound(phase, count, tonumber(slice[5] or 0), tonumber(slice[6] or 0), tonumber(slice[7] or 0))
  or not (seq >= 0 and replays >= 0 and deaths >= 0) then return damaged() end
local pages = phase == 'sealed' and redis.call('LLEN', KEYS[3]) or 0
if phase == 'sealed' and (pages * ARGV[7] < count or pages > count) then return damaged() end
if not (lease >= 0 and lease <= now + 86400000) then lease = 0 end
if slice[2] and slice[2] ~= ARGV[1] then
  local left = math.max(lease - now, tonumber(ARGV[4]))
  if left > 0 then return {'held', left} end
  if tonumber(slice[6] or 0) > 0 then deaths = redis.call('HINCRBY', KEYS[1], 'deaths', 1) end
end
if deaths > 0 and tonumber(slice[6] or 0) == 0 then
  -- No target is in doubt, so none can have killed a worker.
  redis.call('HDEL', KEYS[1], 'deaths', 'bisected')
  deaths, slice[11] = 0, false
end
if not phase then phase = 'expanding' end
if phase == 'expanding' then
  -- An empty page stands first until the seal: the pages behind it are only added to a list that is there, so no list
  -- is without its expiry.
  redis.call('UNLINK', KEYS[2])
  redis.call('RPUSH', KEYS[2], '')
  redis.call('EXPIRE', KEYS[2], ARGV[6])
end
local later = slice[14] and math.max(0, count - math.max(tonumber(slice[14]), tonumber(slice[5] or 0))) or 0
redis.call('HSET', KEYS[1], 'phase', phase, 'claim', ARGV[1], 'owner', ARGV[2],
  'lease', now + tonumber(ARGV[3]))
local claims = redis.call('HINCRBY', KEYS[1], 'claims', 1)
return {'claimed', phase, tonumber(slice[4] or 0), tonumber(slice[5] or 0), tonumber(slice[6] or 0),
  tonumber(slice[7] or 0), claims, now, slice[8] or '', seq, replays, deaths,
  slice[11] or '', later, slice[15] or '',
  count_departures(KEYS[4])}
