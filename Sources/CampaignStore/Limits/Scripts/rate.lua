#!lua flags=allow-oom
-- rate: lends a worker pushes of a campaign, or of all campaigns of an app, that has a rate.
-- Invariant: a push is lent when its time has come, and one takes as long as the rate says. Two clocks go: `at`, which
-- may lag by the memory, so that what was missed meanwhile is caught up; and `brisk`, 2 % faster, which may lag by the
-- burst only. So between any two moments no more is lent than 1.02 times the rate and one burst, and since the bucket
-- is there no more than the rate and the memory. One that was forgotten begins with a single push. What is left is
-- shared among those that ask within a slice of time.
-- Where the rate follows from a time, it is looked at anew with each question: what is left of the targets, by those
-- of the slices that are known, in what is left of the time. Pushes spread over a time move it on while nobody asks, a
-- pause for one, and are never much faster or slower than on the average; an end is kept to, as fast as need be.
-- KEYS 1 bucket, and where the rate follows from a time: 2 campaign
-- ARGV 1 pushes a second ('' where it follows from a time), 2 wanted, 3 lent earlier and not sent, 4 slice, 5 burst,
--      6 memory, each in us, 7 ms that the bucket is kept when nobody asks; where it follows from a time: 8 us over
--      which they are spread, or 9 the ms since the epoch by which they are to be sent, the other '', 10 slices that
--      the worker has in hand and knows the targets of, 11 these targets
-- Returns {pushes lent, us until another one's time has come, us that a push takes}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wanted, returned = tonumber(ARGV[2]), tonumber(ARGV[3])
local bucket = redis.call('HMGET', KEYS[1], 'at', 'brisk', 'slot', 'asks', 'before', 'sent', 'fin')
-- The campaign may have ended meanwhile, and its bucket may have gone with it.
if wanted == 0 and not bucket[1] then return {0, 0, '0'} end
for i = 1, 7 do
  bucket[i] = bucket[i] and tonumber(bucket[i])
  -- What no bucket of ours can say is taken for nothing.
  if bucket[i] and not (bucket[i] >= 0 and bucket[i] < 2 ^ 53) then bucket[i] = nil end
end
local sent, fin

-- What a push takes where that follows from a time.
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
    -- It was forgotten: it is taken to have kept to its time.
    if spread and now - started > memory then sent = math.max(sent, total * math.min(1, (now - started) / length)) end
  end
  sent = math.max(0, sent - returned)
  local lag = math.max(memory, average * 1.25)
  local at = math.max(bucket[1] or now - average, now - lag)
  local left = total - sent
  if not spread then
    -- Some of it is left for the last answers, and for what is tried again.
    fin = ARGV[9] * 1000 - length / 50
    return math.max(1, (fin - now) / math.max(left, total / 100))
  end
  fin = (fin or started + length) + math.max(0, at - (bucket[1] or at))
  local interval = left > 0 and fin > at and (fin - at) / (left + 1) or average
  return math.max(1, average / 1.25, math.min(average * 1.25, interval))
end

-- A year: what is rarer than that is never sent anyhow.
local interval = ARGV[1] == '' and scheduled(tonumber(ARGV[6])) or 1000000 / ARGV[1]
interval = math.min(interval, 31536000000000)
local brisk_interval = interval / 1.02

-- A clock that lags at most that much, and is never ahead: Redis' own may have gone back.
local function clock(value, length, lag)
  value = (value or now - length) - returned * length
  return math.min(now, math.max(value, now - math.max(lag, length)))
end

local at, brisk = clock(bucket[1], interval, ARGV[6]), clock(bucket[2], brisk_interval, ARGV[5])
-- Redis' clock has whole microseconds, so a push may be that much early.
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
-- Where there is not one for everybody, others come first the next time.
if lent > 0 and due < askers then wait = wait + (askers - due) * interval / 2 end
redis.call('HSET', KEYS[1], 'at', at, 'brisk', brisk, 'slot', slot, 'asks', asks, 'before', before)
if fin then redis.call('HSET', KEYS[1], 'sent', sent + lent, 'fin', fin) end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[7] + 2 * interval / 1000))
return {lent, math.ceil(wait), string.format('%.6f', interval)}
