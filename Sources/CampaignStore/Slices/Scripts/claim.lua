#!lua flags=allow-oom
-- claim: makes a worker the owner of a slice, or returns how long another worker's claim remains valid.
-- Invariant: a slice has one valid claim. Only the lease in the slice decides who owns it; the lists of slices and the
-- heartbeats of workers are hints.
-- Workers send targets only from a sealed list. If the previous owner has not sealed the list, the new owner starts the
-- expansion again. The keys of an unsealed list contain the claim id. When the script replaces a claim, it removes the
-- unsealed lists of the old claim, because they contain users and tokens. The caller must therefore name the old claim
-- (ARGV 8) and the keys of its lists. If the slice has another claim than ARGV 8, the script changes nothing and
-- returns the id of that claim. The caller then calls the script again with this id.
-- If a claim expires while targets are in doubt, the script counts the death of a worker. The next recorded outcome
-- sets the number of deaths to 0. Repeated deaths show that a target of the slice kills its workers. The owner then
-- searches for this poison target (see `bisect`).
-- The owner of a claim may call the script again with the same claim id.
-- After a failover of Redis, an expired claim stays valid for a grace period: its owner could not renew it, and must
-- first replay its commits.
-- The script refuses the claim if the worker can't read the version of the targets and the ledger. It answers with the
-- error DAMAGED if the slice's numbers are impossible, or if the list of targets does not have the length that these
-- numbers require.
-- The script treats a lease that ends more than a day from now as expired, because no worker writes such a lease.
-- KEYS 1 slice, 2 unsealed targets of the new claim, 3 sealed targets, 4 departures, 5... unsealed lists of the claim
--      in ARGV 8
-- ARGV 1 id of the new claim
--      2 worker
--      3 ms that the lease lasts
--      4 remaining ms of the grace period (0 outside a grace period)
--      5 version of targets and ledger that the worker can read
--      6 seconds after which an unsealed list expires
--      7 maximum number of targets on a page
--      8 id of the claim to replace ('' if the caller knows of none)
-- Returns one of:
--      {'done'} if the slice has ended
--      {'held', ms} if another claim is valid for this time
--      {'abandoned', claim} without a change, if the slice is not sealed and has this expired claim, which is not
--        ARGV 8
--      {'format', version} if the targets have this version, which the worker can't read
--      {'claimed', phase, number of targets, granted targets, targets in doubt, waiting targets, claims so far, Redis'
--        time in ms, seal (id of the claim that sealed the targets), number of commits, number of replays, number of
--        deaths, targets that the search for a poison target sent last ('first last'; '' without a search), number of
--        targets whose send time has not come, send times (`SendTimes`; '' for none), number of departures in the
--        partition}
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
  -- The unsealed list begins with an empty page, and it gets an expiry here. Workers add pages only to an existing
  -- list, so an unsealed list always has an expiry.
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
