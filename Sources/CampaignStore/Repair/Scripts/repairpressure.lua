#!lua flags=allow-oom
-- repairpressure: adds the `pressure` record under an older form of a user's id to the record under the present form.
-- Earlier versions of Carillon stored the older form, which the present version does not find.
-- Invariant: a campaign that is recorded under both forms counts only once for the caps. The app's latest report of a
-- badge wins; without a report, the greater badge wins. Data from before the user's erasure is not added. A second run
-- changes nothing. The record of a user without a device is retained.
-- KEYS 1 pressure, 2 users, 3 erased, 4 retained
-- ARGV two values for each of at most 500 users: id in the present form, record of the older form
-- Returns 1
local names, waiting = {}, {}
for i = 1, #ARGV, 2 do names[#names + 1] = ARGV[i] end
local erasure = erasures(KEYS[3], names)
local most_campaigns = 255

-- Returns the campaigns of both records, each once, by time; only campaigns after the user's erasure.
local function united(known, more, erased_at)
  local entries, seen = {}, {}
  for _, campaigns in ipairs({known, more}) do
    for at = 1, #campaigns, campaign_size do
      local entry = campaigns:sub(at, at + campaign_size - 1)
      local campaign = entry:sub(9, 16)
      if not seen[campaign] and struct.unpack('>I4', entry) * 1000 > erased_at then
        seen[campaign] = true
        entries[#entries + 1] = entry
      end
    end
  end
  table.sort(entries)
  return table.concat(entries, '', math.max(1, #entries - most_campaigns + 1))
end

for i = 1, #ARGV, 2 do
  local user, older, place = ARGV[i], ARGV[i + 1], 1
  local record, erased_at = redis.call('HGET', KEYS[1], user) or '', erasure[user] or -1
  local was = record
  while place <= #older do
    local app = older:sub(place + 1, place + older:byte(place))
    local _, badge, campaigns, _, reported = pressure_parts(older, app)
    place = place + 1 + #app + 15 + #campaigns
    local reported_at = struct.unpack('>I6', reported)
    if erased_at >= 0 and reported_at <= erased_at then badge, reported, reported_at = 0, nothing_reported, 0 end
    local front, known, known_campaigns, behind, known_reported = pressure_parts(record, app)
    local known_at = struct.unpack('>I6', known_reported)
    if reported_at < known_at or reported_at == known_at and known > badge then
      badge, reported = known, known_reported
    end
    record = pressure_record(front, app, badge, united(known_campaigns, campaigns, erased_at), behind, reported)
  end
  if record ~= was then
    redis.call('HSET', KEYS[1], user, record)
    if redis.call('SISMEMBER', KEYS[2], user) == 0 then waiting[#waiting + 1] = user end
  end
end
retain(KEYS[4], waiting)
return 1
