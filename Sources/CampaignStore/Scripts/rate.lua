#!lua flags=allow-oom
-- rate: lends a worker pushes of a campaign, or of all campaigns of an app, that has a rate.
-- Keeps: a push is lent when its time has come, and one takes as long as the rate says. Two clocks go: `at`, which
-- may lag by the memory, so that what was missed meanwhile is caught up; and `brisk`, 2 % faster, which may lag by the
-- burst only. So between any two moments no more is lent than 1.02 times the rate and one burst, and since the bucket
-- is there no more than the rate and the memory. One that was forgotten begins with a single push. What is left is
-- shared among those that ask within a slice of time.
-- KEYS 1 bucket
-- ARGV 1 pushes a second, 2 wanted, 3 lent earlier and not sent, 4 slice, 5 burst, 6 memory, each in us, 7 ms that the
--      bucket is kept when nobody asks
-- Returns {pushes lent, us until another one's time has come}
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local bucket = redis.call('HMGET', KEYS[1], 'at', 'brisk', 'slot', 'asks', 'before')
for i = 1, 5 do
  bucket[i] = bucket[i] and tonumber(bucket[i])
  -- What no bucket of ours can say is taken for nothing.
  if bucket[i] and not (bucket[i] >= 0 and bucket[i] < 2 ^ 53) then bucket[i] = nil end
end
local wanted, returned = tonumber(ARGV[2]), tonumber(ARGV[3])
-- A year: what is rarer than that is never sent anyhow.
local interval = math.min(1000000 / ARGV[1], 31536000000000)
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
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', ARGV[7] + 2 * interval / 1000))
return {lent, math.ceil(wait)}
