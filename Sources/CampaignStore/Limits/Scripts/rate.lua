#!lua flags=allow-oom
-- rate: grants a worker permits for pushes, from the token bucket of a campaign or of all campaigns of an app.
-- Invariant: a permit is granted when its time has come. The rate decides the time that each permit takes. The bucket
-- has two clocks. `at` may lag by `memory`, so that missed time is caught up. `brisk` is 2 % faster and may lag only by
-- the burst. So between any two moments the grants are at most 1.02 times the rate plus one burst. Since the bucket was
-- created, they are at most the rate plus the memory. A new bucket, also one that expired, begins with a single permit.
-- The due permits are shared among the workers that ask within one slice of time.
-- If the rate follows from a time (a duration or an end), each call computes the rate again: the remaining targets,
-- estimated from the slices whose targets are known, over the remaining time. A duration grows while no worker asks,
-- for example during a pause; its rate stays within a factor of 1.25 of the average. An end does not move: the rate
-- rises as far as necessary.
-- KEYS 1 bucket, and if the rate follows from a time: 2 campaign
-- ARGV 1 pushes a second ('' if the rate follows from a time), 2 permits wanted, 3 earlier permits that were not used,
--      4 slice, 5 burst, 6 memory, each in us, 7 ms until an unused bucket expires; if the rate follows from a time: 8
--      duration in us, or 9 end in ms since the epoch, the other '', 10 slices that the worker holds and whose targets
--      it knows, 11 number of these targets
-- Returns {permits granted, us until the next permit is due, us that a push takes}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wanted, returned = tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'at', 'brisk', 'slot', 'asks', 'before', 'sent', 'fin')
-- The campaign may have ended, and its bucket may have been deleted with it.
if wanted == 0 and not bucket[1] then return {0, 0, '0'} end
for i = 1, 7 do
  bucket[i] = bucket[i] and tonumber(bucket[i])
  -- A value that no bucket of Carillon can have counts as missing.
  if bucket[i] and not (bucket[i] >= 0 and bucket[i] < 2 ^ 53) then bucket[i] = nil end
end
local sent, fin

-- Returns the time in us that a push takes if the rate follows from a time.
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
    -- The bucket expired: the campaign is assumed to have kept its schedule.
    if spread and now - started > memory then sent = math.max(sent, total * math.min(1, (now - started) / length)) end
  end
  sent = math.max(0, sent - returned)
  local lag = math.max(memory, average * 1.25)
  local at = math.max(bucket[1] or now - average, now - lag)
  local left = total - sent
  if not spread then
    -- Some of the time is reserved for the last answers and for retries.
    fin = ARGV[9] * 1000 - length / 50
    return math.max(1, (fin - now) / math.max(left, total / 100))
  end
  fin = (fin or started + length) + math.max(0, at - (bucket[1] or at))
  local interval = left > 0 and fin > at and (fin - at) / (left + 1) or average
  return math.max(1, average / 1.25, math.min(average * 1.25, interval))
end

-- One year: a rarer push is never sent anyway.
local interval = ARGV[1] == '' and scheduled(tonumber(ARGV[6])) or 1000000 / ARGV[1]
interval = math.min(interval, 31536000000000)
local brisk_interval = interval / 1.02

-- Returns a clock that lags at most `lag` and is never ahead. Redis' own clock may have gone back.
local function clock(value, length, lag)
  value = (value or now - length) - returned * length
  return math.min(now, math.max(value, now - math.max(lag, length)))
end

local at, brisk = clock(bucket[1], interval, ARGV[6]), clock(bucket[2], brisk_interval, ARGV[5])
-- Redis' clock has whole microseconds, so a permit may be that much early.
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
local lent = math.max(0, math.min(wanted, math.ceil(due / askers)))
at, brisk = at + lent * interval, brisk + lent * brisk_interval
local wait = math.max(0, at + interval - now, brisk + brisk_interval - now)
-- If there are fewer due permits than workers that ask, other workers come first the next time.
if lent > 0 and due < askers then wait = wait + (askers - due) * interval / 2 end
redis.call('HSET', KEYS[1], 'at', at, 'brisk', brisk, 'slot', slot, 'asks', asks, 'before', before)
if fin then redis.call('HSET', KEYS[1], 'sent', sent + lent, 'fin', fin) end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[7] + 2 * interval / 1000))
return {lent, math.ceil(wait), string.format('%.6f', interval)}
