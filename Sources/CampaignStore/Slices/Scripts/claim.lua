#!lua flags=allow-oom
-- claim: makes a worker the owner of a slice, or returns the remaining lease of another claim.
-- Invariant: a slice has one live claim. Only the lease in the slice decides who owns it; lists and heartbeats are
-- hints. A slice sends nothing before its list of targets is sealed (final). A new owner of an unsealed slice therefore
-- starts the expansion again. The keys of the unsealed lists contain the claim id. When the script replaces a claim, it
-- removes the lists of the old claim, because they contain users and tokens. The caller must name the old claim
-- (ARGV 8) and the keys of its lists. If the caller names another claim or none, the script changes nothing and returns
-- the id of the old claim. The caller then tries again.
-- A claim that expires with targets in doubt counts as a death of a worker. The next recorded outcome sets the number
-- of deaths to 0. Repeated deaths show that a target of the slice kills its workers. The owner of the claim may claim
-- the slice again.
-- For a grace period after a failover, an expired claim is still valid: its owner could not renew it, and must first
-- replay its commits.
-- The script refuses the claim if the worker can't read the version of the targets and the ledger. It answers DAMAGED
-- if the slice's numbers are impossible, or if the list of targets does not have the length that these numbers require.
-- No worker writes a lease of more than a day. The script ignores such a lease.
-- KEYS 1 slice, 2 unsealed targets of this claim, 3 targets, 4 departures, 5... unsealed lists of ARGV 8
-- ARGV 1 claim id, 2 worker, 3 lease ms, 4 remaining ms of the grace period (0: there is none), 5 version of targets
--      and ledger that the worker can read, 6 seconds after which an unsealed list expires, 7 targets that a page can
--      have, 8 claim that this one replaces ('' if the caller knows of none)
-- Returns one of:
--      {'done'}
--      {'held', remaining ms}
--      {'abandoned', claim} without a change: the unsealed slice has this claim, which is not ARGV 8
--      {'format', version}
--      {'claimed', phase, count, granted, in doubt, waiting, claims, now ms, seal, sequence, replays, deaths, bisected
--        targets as 'first last' or '', number of targets whose time has not come, send times or '', number of
--        departures from the partition}
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
  if phase == 'expanding' then
    if slice[2] ~= ARGV[8] then return {'abandoned', slice[2]} end
    redis.call('UNLINK', unpack(KEYS, 5))
  end
  if tonumber(slice[6] or 0) > 0 then deaths = redis.call('HINCRBY', KEYS[1], 'deaths', 1) end
end
if deaths > 0 and tonumber(slice[6] or 0) == 0 then
  -- No target is in doubt, so none can have killed a worker.
  redis.call('HDEL', KEYS[1], 'deaths', 'bisected')
  deaths, slice[11] = 0, false
end
if not phase then phase = 'expanding' end
if phase == 'expanding' then
  -- The first page stays empty until the list is sealed. It is created here with an expiry. Later pages are only added
  -- to an existing list, so an unsealed list always has an expiry.
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
