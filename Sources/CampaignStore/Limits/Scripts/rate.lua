#!lua flags=allow-oom
-- rate: grants a worker permits, each for one push, from a token bucket: of a campaign, of all campaigns of an app, or
-- of all apps that share a quota of a push service.
-- Invariant: in any interval, the script grants at most the permits of 1.02 times the rate, plus one burst (the permits
-- of 0.175 s, or one permit). From the creation of the bucket to any later time, it grants at most the permits of the
-- rate, plus the permits of the duration `memory` (ARGV 6). Workers hold permits before they use them. In one moment,
-- the fleet can therefore send more than one burst: at most the pushes of 0.25 s (see `RateBucket`).
-- The bucket has two clocks, and each permit advances both. A permit is due when both clocks are behind the present
-- time. The clock `at` may lag by `memory`, so workers can catch up missed time. The clock `brisk` permits a rate that
-- is 2 % higher, and may lag only by the burst. A bucket that is new, or that has expired, begins with a single permit.
-- Workers that ask within the same period (ARGV 4) share the due permits.
-- A campaign may have a duration or an end time instead of a rate. Each call then computes the rate again: it divides
-- the remaining targets by the remaining time. It estimates the number of targets from the slices whose targets are
-- known. A duration becomes longer while no worker asks for permits, for example during a pause. The rate then stays
-- within a factor of 1.25 of the average rate. An end time does not move, and the rate rises as far as necessary.
-- Under a quota, the rate is the configured one, or less:
-- * Slow start: a new bucket begins with a tenth of the rate. If workers take all permits, this share rises to the full
--   rate within the duration of the slow start. While no worker takes the permits, the share falls at the same speed.
-- * Each report of refused pushes lowers the rate to the limit that the service named, or by a tenth if this limit is
--   missing or not lower. Reports within four seconds count once. For six seconds after a report, the bucket grants
--   only a tenth of the lowered rate, because the service refuses every push until its minute ends. A report ends the
--   slow start.
-- * One minute after the last reduction, the rate begins to rise, by a tenth of the configured rate each minute. A
--   limit that the service named counts for an hour.
-- KEYS 1 bucket, 2 campaign, only if it has a duration or an end time
-- ARGV 1 rate in pushes a second ('' for a duration or an end time)
--      2 number of permits that the worker wants
--      3 number of earlier permits that the worker did not use and returns
--      4 period in us (microseconds)
--      5 burst in us
--      6 memory in us
--      7 ms until an unused bucket expires
--      For a duration or an end time:
--      8 duration in us ('' for an end time)
--      9 end time in ms since the epoch ('' for a duration)
--      10 number of slices that the worker holds and whose targets it knows
--      11 number of the targets of these slices
--      Otherwise:
--      8 duration of a quota's slow start in us ('' for other buckets)
--      9 limit that the service named in a report of refused pushes, in pushes a second (0 if it named none, '' without
--        a report)
-- Returns {number of granted permits, us until the next permit is due, us between two permits at the present rate}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wanted, returned = tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'at', 'brisk', 'slot', 'asks', 'before', 'sent', 'fin')
-- The campaign may have ended, and its bucket may have been deleted with it.
if wanted == 0 and not bucket[1] then return {0, 0, '0'} end
for i = 1, 7 do
  bucket[i] = bucket[i] and tonumber(bucket[i])
  -- If Carillon can't have written a value, the script treats this value as missing.
  if bucket[i] and not (bucket[i] >= 0 and bucket[i] < 2 ^ 53) then bucket[i] = nil end
end
local sent, fin

-- Returns the time in us between two pushes, computed from the duration or the end time of the campaign.
local function scheduled(memory)
  local campaign = redis.call('HMGET', KEYS[2], 'slices', 'finished', 'targets', 'startedAt')
  for i = 1, 4 do campaign[i] = tonumber(campaign[i] or 0) or 0 end
  local finished, targets = campaign[2], campaign[3] + ARGV[11]
  local total = math.max(1, targets, targets * campaign[1] / math.max(1, finished + ARGV[10]))
  local started = campaign[4] > 0 and campaign[4] * 1000 or now
  local spread = tonumber(ARGV[8])
  local length = spread or math.max(1, ARGV[9] * 1000 - started)
  local average = length / total
  fin, sent = bucket[7], bucket[6]
  if not sent then
    sent = campaign[3]
    -- The bucket is new or has expired. The script assumes that the campaign has kept its schedule.
    if spread and now - started > memory then sent = math.max(sent, total * math.min(1, (now - started) / length)) end
  end
  sent = math.max(0, sent - returned)
  local lag = math.max(memory, average * 1.25)
  local at = math.max(bucket[1] or now - average, now - lag)
  local left = total - sent
  if not spread then
    -- A fiftieth of the time is reserved for the last answers and for retries.
    fin = ARGV[9] * 1000 - length / 50
    return math.max(1, (fin - now) / math.max(left, total / 100))
  end
  fin = (fin or started + length) + math.max(0, at - (bucket[1] or at))
  local interval = left > 0 and fin > at and (fin - at) / (left + 1) or average
  return math.max(1, average / 1.25, math.min(average * 1.25, interval))
end

local quota

-- Moves the slow start forward by a time in us, or back if `by` is negative.
local function change_share(by)
  local ramp = tonumber(ARGV[8])
  quota.share = ramp > 0 and math.min(1, math.max(0.1, (quota.share or 0.1) + 0.9 / ramp * by)) or 1
end

-- Returns the time in us between two pushes under a quota, and changes the quota's present limit. `full` is the
-- configured rate. `stated` is the limit of a report of refused pushes (0 if the service named none), nil without a
-- report.
local function limited(full, stated)
  local minute, hour = 60000000, 3600000000
  quota = {}
  local names = {'share', 'limit', 'since', 'refused', 'stated', 'statedAt'}
  for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(names))) do
    value = value and tonumber(value)
    if value and value > 0 and value < 2 ^ 53 then quota[names[i]] = value end
  end
  -- A time in the future was written before Redis' clock went back.
  if quota.statedAt and quota.statedAt > now then quota.statedAt = nil end
  if quota.refused and quota.refused > now then quota.refused = nil end
  if quota.since and quota.since > now + minute then quota.since = nil end
  change_share(0)

  local function present()
    local limit = full
    if quota.stated and quota.statedAt and now - quota.statedAt < hour then limit = math.min(limit, quota.stated) end
    if not (quota.limit and quota.since) then return limit end
    return math.min(limit, quota.limit + full / 10 * math.max(0, now - quota.since) / minute)
  end
  if stated then
    local rate = present() * quota.share
    local counts = not quota.refused or now - quota.refused >= 4000000
    local is_new = stated > 0 and stated < rate
    -- The fleet already sends at the limit that the service named. The service refuses pushes only because the fleet
    -- was faster earlier in this minute.
    local is_at_limit = stated > 0 and quota.limit == stated and quota.since and now < quota.since
    if stated > 0 then quota.stated, quota.statedAt = stated, now end
    if counts then
      -- At least a hundredth of the rate stays, so that the fleet notices when the service accepts more.
      if not is_at_limit then
        quota.limit, quota.since = is_new and stated or math.max(rate * 0.9, full / 100), now + minute
      end
      quota.share, quota.refused = 1, now
    end
  end
  local function interval()
    local is_refused = quota.refused and now - quota.refused < 6000000
    return (is_refused and 10000000 or 1000000) / (present() * quota.share)
  end
  -- The time in us for which no worker has taken the permits that were due.
  local missed = bucket[1] and now - bucket[1] - math.max(ARGV[6], interval()) or 0
  change_share(-math.max(0, missed))
  if quota.limit and quota.since then quota.limit, quota.since = present(), math.max(quota.since, now) end
  return interval()
end

local interval
if ARGV[1] == '' then
  interval = scheduled(tonumber(ARGV[6]))
elseif ARGV[8] ~= '' then
  interval = limited(tonumber(ARGV[1]), tonumber(ARGV[9]))
else
  interval = 1000000 / ARGV[1]
end
-- At most one year. With a longer interval, practically no push would be sent.
interval = math.min(interval, 31536000000000)
local brisk_interval = interval / 1.02

-- Returns a clock of the bucket that lags behind the present time by at most `lag` and is never ahead of it. Redis' own
-- clock may have gone back.
local function clock(value, length, lag)
  value = (value or now - length) - returned * length
  return math.min(now, math.max(value, now - math.max(lag, length)))
end

local at, brisk = clock(bucket[1], interval, ARGV[6]), clock(bucket[2], brisk_interval, ARGV[5])
-- Redis' clock has whole microseconds, so a permit may be up to one microsecond early.
local due = math.min(math.floor((now - at + 1) / interval), math.floor((now - brisk + 1) / brisk_interval))
local slice = math.max(tonumber(ARGV[4]), interval)
local slot, asks, before = math.floor(now / slice), 0, 0
if bucket[3] == slot then
  asks, before = bucket[4] or 0, bucket[5] or 0
elseif bucket[3] == slot - 1 then
  before = bucket[4] or 0
end
if wanted > 0 then asks = asks + 1 end
local askers = math.max(asks, before, 1)
local granted = math.max(0, math.min(wanted, math.ceil(due / askers)))
at, brisk = at + granted * interval, brisk + granted * brisk_interval
local wait = math.max(0, at + interval - now, brisk + brisk_interval - now)
-- If there are fewer due permits than workers that ask, this worker waits longer. Other workers then get the next
-- permits.
if granted > 0 and due < askers then wait = wait + (askers - due) * interval / 2 end
if quota then
  -- Permits may become more frequent before the next one is due.
  wait = math.min(wait, 5000000)
  change_share((granted - returned) * interval)
  for name, value in pairs(quota) do redis.call('HSET', KEYS[1], name, value) end
end
redis.call('HSET', KEYS[1], 'at', at, 'brisk', brisk, 'slot', slot, 'asks', asks, 'before', before)
if fin then redis.call('HSET', KEYS[1], 'sent', sent + granted, 'fin', fin) end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[7] + 2 * interval / 1000))
return {granted, math.ceil(wait), string.format('%.6f', interval)}
