#!lua flags=allow-oom
-- admit: decides for a page of sealed targets who gets the push and with which number, and counts that for their users.
-- Keeps: a user is counted once for each campaign, whoever asks and how often: what was decided stands in a list beside
-- the targets, page by page, and how far that goes in the slice; both change with the counts, in this step. Only the
-- owner of the claim has a page decided; one that is decided already it is told again. A replay tells what had been
-- decided before Redis lost it; it is accepted from a stale owner too, and only under the seal that it is of. `commit`
-- grants no target that is not admitted.
-- The devices of a user stand one behind the other; where a page ends between them, the next one goes on as the last
-- did. Of who has no device any more nothing is kept.
-- It runs when memory is full: what it adds is bounded by the sealed targets.
-- A decision is u32: 0 (no number), a badge, or 0xFFFFFFFF (capped: it does not get the push).
-- KEYS 1 slice, 2 targets, 3 admitted, 4 pressure, 5 users
-- ARGV 1 claim id, 2 seal, 3 page, 4 targets of a page, 5 app, 6 campaign, 8 bytes, 7 category, 4 bytes ('' for none),
--      8 seconds for which times are kept, 9 what is added to the badge (0: it has none), 10 decisions that are told
--      again ('' to decide), 11... caps, three each: category ('' for all of the app), how often, in so many seconds
-- Returns {1, decisions of the page} | {0} the claim is stale, or the seal another | {2} Redis has lost earlier pages
local slice = redis.call('HMGET', KEYS[1], 'claim', 'phase', 'seal', 'count', 'admitted', 'admittedLast')
local told = ARGV[10]
if slice[2] ~= 'sealed' or slice[3] ~= ARGV[2] or told == '' and slice[1] ~= ARGV[1] then return {0} end
local number, count, admitted = tonumber(ARGV[3]), tonumber(slice[4]), tonumber(slice[5])
if not (admitted and admitted >= 0 and admitted <= count and admitted % 1 == 0) then return damaged() end
local first = number * ARGV[4]
if first < admitted then return {1, redis.call('LINDEX', KEYS[3], number) or ''} end
if first > admitted then return {2} end
if number > 0 and redis.call('LLEN', KEYS[3]) ~= number then return damaged() end
local page = redis.call('LINDEX', KEYS[2], number) or ''

local names, known, place = {}, {}, {}
local at = 1
while at < #page do
  local token, user = struct.unpack('>I2I2', page, at)
  local from = at + 4 + token % 32768
  at = from + user
  local name = page:sub(from, at - 1)
  -- Values of the target, where the length of the token says that there are any.
  if token >= 32768 then at = at + 2 + struct.unpack('>I2', page, at) end
  names[#names + 1] = name
  if name ~= '' and not place[name] then
    known[#known + 1] = name
    place[name] = #known
  end
end
if #names == 0 or first + #names > count or told ~= '' and #told ~= 4 * #names then return damaged() end

local time = redis.call('TIME')
local now = tonumber(time[1])
local oldest, step = now - ARGV[8], tonumber(ARGV[9])
local app, campaign = ARGV[5], ARGV[6]
local category = ARGV[7] == '' and '\0\0\0\0' or ARGV[7]
-- The category of what counts for no cap, and is only kept so that its badge is not raised twice.
local uncounted = '\255\255\255\255'
local caps = {}
for i = 11, #ARGV, 3 do
  caps[#caps + 1] = {category = ARGV[i], most = tonumber(ARGV[i + 1]), from = now - ARGV[i + 2]}
end
local records, listed = {}, {}
if #known > 0 then
  records = redis.call('HMGET', KEYS[4], unpack(known))
  listed = redis.call('SMISMEMBER', KEYS[5], unpack(known))
end

-- What is decided of a user, and the record from then on. `told` is nil, or what was decided before.
local function decide(record, told)
  local front, badge, times, behind, said = pressure_parts(record, app)
  local kept, counts, has_it = {}, {}, false
  for i = 1, #times, 16 do
    local instant = struct.unpack('>I4', times, i)
    if instant > oldest then
      kept[#kept + 1] = times:sub(i, i + 15)
      has_it = has_it or times:sub(i + 8, i + 15) == campaign
      for k, cap in ipairs(caps) do
        local kind = times:sub(i + 4, i + 7)
        if instant > cap.from and (kind == cap.category or cap.category == '' and kind ~= uncounted) then
          counts[k] = (counts[k] or 0) + 1
        end
      end
    end
  end
  local is_capped = told == 4294967295
  if not told and not has_it then
    for k, cap in ipairs(caps) do is_capped = is_capped or (counts[k] or 0) >= cap.most end
  end
  local decision = 0
  if is_capped then
    decision = 4294967295
  else
    if step > 0 then
      -- Another device of the user may have been decided on before: they have times of their own.
      badge = told and math.max(badge, told) or math.min(badge + (has_it and 0 or step), 2147483647)
      decision = told or badge
    end
    if not has_it then
      -- No more than fit; by the caps there are never as many.
      if #kept >= 255 then table.remove(kept, 1) end
      kept[#kept + 1] = struct.pack('>I4', now) .. (#caps > 0 and category or uncounted) .. campaign
    end
  end
  return decision, pressure_record(front, app, badge, table.concat(kept), behind, said)
end

-- Who comes a second time gets what was decided the first time.
local decided = {[''] = 0}
local last = slice[6] or ''
if number > 0 and #last > 4 then decided[last:sub(5)] = struct.unpack('>I4', last) end
local decisions, fields, gone = {}, {}, {}
for i, name in ipairs(names) do
  if not decided[name] then
    local index = place[name]
    local record = records[index] or ''
    local before = told ~= '' and struct.unpack('>I4', told, 4 * i - 3) or nil
    local decision, after = decide(record, before)
    decided[name] = decision
    if listed[index] == 1 and after ~= record then
      if after == '' then
        gone[#gone + 1] = name
      else
        fields[#fields + 1] = name
        fields[#fields + 1] = after
      end
    end
  end
  decisions[i] = struct.pack('>I4', decided[name])
end
if #fields > 0 then redis.call('HSET', KEYS[4], unpack(fields)) end
if #gone > 0 then redis.call('HDEL', KEYS[4], unpack(gone)) end
local wire = table.concat(decisions)
if number == 0 then redis.call('DEL', KEYS[3]) end
redis.call('RPUSH', KEYS[3], wire)
redis.call('HSET', KEYS[1], 'admitted', first + #names, 'admittedLast', decisions[#names] .. names[#names])
return {1, wire}
