#!lua flags=allow-oom
-- dequeue: moves references to open slices of one campaign to the processing list of a worker. A slice is open if no
-- worker has it. A reference is the text 'partition:campaign id', which names a slice.
-- Invariant: a reference is in one list at a time. A reference is only a hint, because `claim` decides who owns a
-- slice. A worker with a reference is in the list of workers, so other workers notice when its heartbeats stop. The
-- script returns no reference before the campaign's partitions are fixed (`narrow`).
-- A campaign to users first waits for the events that are on the list `registrations` when this script first reads the
-- active campaign. It waits until the maintenance leader has applied these events. The field `awaits` of the campaign
-- is 'registrations' at first. While the campaign waits, the field has the text 'MARK DEADLINE'. MARK is the number of
-- events that must have left the list since the creation of the store. DEADLINE is in ms since the epoch. `takeoff`
-- counts the events that leave the list.
-- The campaign begins when this count reaches MARK. After DEADLINE, the campaign begins without the remaining events,
-- and the field `eventsNotApplied` has their number.
-- KEYS 1 lane, 2 campaign, 3 open slices, 4 processing list of the worker, 5 workers, 6 registrations, 7 housekeeping,
--      8 wake channel
-- ARGV 1 id of the campaign, 2 worker, 3 number of partitions of the store, 4 maximum number of slices (at most 500),
--      5 ms to wait for events
-- Returns the partitions of the moved slices, or one of:
--      -1 if the script found only invalid partitions and dropped them; call it again
--      -2 if there is no such campaign
--      -3 if the campaign's partitions are not fixed yet
--      false if the campaign has no open slice, or is neither active nor cancelled
--      'waits MS' if the campaign waits for events, for at most MS more ms
--      'overtakes N' if the campaign begins without N events; the next call returns partitions
-- With the replies -2 and false, the script also removes the campaign from the lane.

-- Returns the reply 'waits MS' or 'overtakes N'; nil if the campaign need not wait. If a key has the wrong type, the
-- campaign does not wait.
local function wait_for_events(awaits)
  local queued = redis.pcall('LLEN', KEYS[6])
  local taken = redis.pcall('HGET', KEYS[7], 'taken:registrations')
  if type(queued) == 'number' and queued > 0 and type(taken) ~= 'table' then
    taken = tonumber(taken or 0)
    local time = redis.call('TIME')
    local now = time[1] * 1000 + math.floor(time[2] / 1000)
    local mark, deadline = awaits:match('^(%d+) (%d+)$')
    mark, deadline = tonumber(mark), tonumber(deadline)
    if not mark then
      mark, deadline = taken + queued, now + ARGV[5]
      redis.call('HSET', KEYS[2], 'awaits', string.format('%.0f %.0f', mark, deadline))
      local awaited = tonumber(redis.call('HGET', KEYS[7], 'awaited') or 0)
      if awaited < mark then redis.call('HSET', KEYS[7], 'awaited', string.format('%.0f', mark)) end
      redis.call('PUBLISH', KEYS[8], 'events')
    end
    if taken < mark then
      if now < deadline then return string.format('waits %.0f', deadline - now) end
      local left = string.format('%.0f', math.min(mark - taken, queued))
      redis.call('HDEL', KEYS[2], 'awaits')
      redis.call('HSET', KEYS[2], 'eventsNotApplied', left)
      return 'overtakes ' .. left
    end
  end
  redis.call('HDEL', KEYS[2], 'awaits')
end

local campaign = redis.call('HMGET', KEYS[2], 'state', 'narrowed', 'awaits')
local state = campaign[1]
if state == 'active' and campaign[3] then
  local answer = wait_for_events(campaign[3])
  if answer then return answer end
end
if state == 'active' and not campaign[2] then return -3 end
local partitions, references, is_empty = {}, {}, true
if state == 'active' or state == 'cancelled' then
  is_empty = false
  -- Invalid partitions are dropped, at most 500 in a call.
  for _ = 1, 500 do
    local partition = redis.call('LPOP', KEYS[3])
    is_empty = not partition
    if is_empty then break end
    local number = tonumber(partition)
    if number and number >= 0 and number < tonumber(ARGV[3]) and tostring(number) == partition then
      partitions[#partitions + 1] = number
      references[#references + 1] = partition .. ':' .. ARGV[1]
      if #partitions >= tonumber(ARGV[4]) then break end
    end
  end
end
if #partitions == 0 then
  if not is_empty then return -1 end
  redis.call('LREM', KEYS[1], 0, ARGV[1])
  return not state and -2
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('RPUSH', KEYS[4], unpack(references))
redis.call('ZADD', KEYS[5], now, ARGV[2])
redis.call('HSETNX', KEYS[2], 'startedAt', now)
return partitions
