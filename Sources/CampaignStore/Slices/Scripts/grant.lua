-- Functions shared by the scripts that grant or end targets. The loader puts `device.lua`, `pressure.lua`,
-- `outcome.lua` and then this file in front of these scripts.
-- A target becomes invalid if its user opts out or loses the device after the list of targets was sealed. Such a user
-- has departed (`departures.lua`). Each grant reports to the worker which users have departed. The worker checks the
-- targets of these users with `regrant`.
-- A decision about a target is a u32: the badge of the push, 0 for a push without a badge, or 0xFFFFFF00 plus an
-- outcome. A target whose decision has an outcome is withheld: workers do not send its push.
local withheld_from = 4294967040

-- Returns whether a user has a device with this token and app. `blob` has the user's device records. A device without
-- an app belongs to every app.
local function has_device(blob, token, app)
  local at = find_device(blob, token)
  if not at then return false end
  local service = at + 19 + #token
  local name = service + 1 + blob:byte(service)
  local its_app = blob:sub(name + 1, name + blob:byte(name))
  return its_app == '' or its_app == app
end

-- Checks targets by their users and tokens. Returns a table with the outcome of each target that must be withheld: 27
-- (opted out) or 28 (device gone). A target that may be sent has no entry. KEYS[from_list] to KEYS[to_list] are the
-- suppression lists that apply. A target whose token the job lists has no user, and is always valid.
local function withheld_of(devices, from_list, to_list, app, users, tokens)
  local outcomes, names, place = {}, {}, {}
  for _, user in ipairs(users) do
    if user ~= '' and not place[user] then
      names[#names + 1] = user
      place[user] = #names
    end
  end
  if #names == 0 then return outcomes end
  local blobs, is_listed = redis.call('HMGET', devices, unpack(names)), {}
  for list = from_list, to_list do
    local answers = redis.call('SMISMEMBER', KEYS[list], unpack(names))
    for i = 1, #answers do is_listed[i] = is_listed[i] or answers[i] == 1 end
  end
  for i, user in ipairs(users) do
    local its_place = place[user]
    if its_place and is_listed[its_place] then
      outcomes[i] = 27
    elseif its_place and not has_device(blobs[its_place] or '', tokens[i], app) then
      outcomes[i] = 28
    end
  end
  return outcomes
end

-- Returns the functions that count targets in their users' frequency caps and badges: `users_of`, `read_rules`, `take`,
-- `give_back` and `count_sent`. They are created only if the campaign has rules, because each call of a script creates
-- them again.
local function counting()
  -- Sealed targets by page.
  local target_pages, targets_of_page = {}, 128
  local function target_page(targets, number)
    target_pages[number] = target_pages[number] or {text = redis.call('LINDEX', targets, number) or ''}
    return target_pages[number]
  end

  -- Reads the users of the targets on a page into `page.users`, and returns the page.
  local function read_page(page)
    if page.users then return page end
    local text, users, at = page.text, {}, 1
    while at + 3 <= #text do
      local token, user = struct.unpack('>I2I2', text, at)
      local from = at + 4 + token % 32768
      at = from + user
      users[#users + 1] = text:sub(from, at - 1)
      -- The highest bit of the token's length marks a target with values.
      if token >= 32768 then at = at + 2 + struct.unpack('>I2', text, at) end
    end
    page.users = users
    return page
  end

  -- Returns the users of these targets, in the same order; '' for a target without a user.
  local function users_of(targets, indexes)
    local users = {}
    for i = 1, #indexes do
      local page = read_page(target_page(targets, math.floor(indexes[i] / targets_of_page)))
      users[i] = page.users[indexes[i] % targets_of_page + 1] or ''
    end
    return users
  end

  -- Parses the rules for frequency caps and badges. The text has: digest of the campaign (8 bytes), digest of the
  -- category (4 bytes), u32 seconds for which the users' records keep a campaign, u32 number that the push adds to the
  -- badge (0: the push has no badge). Then for each cap: u8 1 if the cap counts all campaigns of the app, 0 if it
  -- counts one category; digest of this category (4 bytes), u32 maximum number of campaigns, u32 seconds of the period.
  local function read_rules(packed)
    local rules = {campaign = packed:sub(1, 8), category = packed:sub(9, 12), caps = {}}
    rules.memory, rules.step = struct.unpack('>I4I4', packed, 13)
    for at = 21, #packed - 12, 13 do
      local most, seconds = struct.unpack('>I4I4', packed, at + 5)
      rules.caps[#rules.caps + 1] =
        {is_of_all = packed:byte(at) == 1, category = packed:sub(at + 1, at + 4), most = most, seconds = seconds}
    end
    return rules
  end

  -- Category that is stored for a campaign that counts for no cap. Such a campaign is stored because it must raise the
  -- badge only once.
  local uncounted = '\255\255\255\255'

  -- Reads the frequency cap counters and badges of users. Returns a table of them by user, and the list of users.
  -- `write_counted` writes the changes.
  local function read_counted(pressure, listed, rules, app, now, names)
    local counted, known = {}, {}
    for i = 1, #names do
      if names[i] ~= '' and not counted[names[i]] then
        known[#known + 1] = names[i]
        counted[names[i]] = true
      end
    end
    if #known == 0 then return counted, known end
    local records = redis.call('HMGET', pressure, unpack(known))
    local is_listed = redis.call('SMISMEMBER', listed, unpack(known))
    for i = 1, #known do
      local record = records[i] or ''
      local front, badge, campaigns, behind, reported = pressure_parts(record, app)
      local user = {record = record, front = front, badge = badge, behind = behind, reported = reported,
        kept = {}, counts = {}, is_listed = is_listed[i] == 1}
      for at = 1, #campaigns, campaign_size do
        local when = struct.unpack('>I4', campaigns, at)
        if when > now - rules.memory then
          user.kept[#user.kept + 1] = campaigns:sub(at, at + campaign_size - 1)
          if campaigns:sub(at + 8, at + 15) == rules.campaign then
            user.place, user.when, user.holders = #user.kept, when, campaigns:byte(at + 16)
            user.shown = struct.unpack('>I4', campaigns, at + 17)
          end
          local category = campaigns:sub(at + 4, at + 7)
          for k, cap in ipairs(rules.caps) do
            if campaigns:byte(at + 16) > 0 and when > now - cap.seconds
              and (category == cap.category or cap.is_of_all and category ~= uncounted) then
              user.counts[k] = (user.counts[k] or 0) + 1
            end
          end
        end
      end
      counted[known[i]] = user
    end
    return counted, known
  end

  local function write_counted(pressure, app, counted, names)
    local fields, gone = {}, {}
    for i = 1, #names do
      local user = counted[names[i]]
      local record = pressure_record(user.front, app, user.badge, table.concat(user.kept), user.behind, user.reported)
      if user.is_listed and record ~= user.record then
        if record == '' then
          gone[#gone + 1] = names[i]
        else
          fields[#fields + 1] = names[i]
          fields[#fields + 1] = record
        end
      end
    end
    if #fields > 0 then redis.call('HSET', pressure, unpack(fields)) end
    if #gone > 0 then redis.call('HDEL', pressure, unpack(gone)) end
  end

  -- Records the campaign for a user: the time, the category, the number of granted targets (`holders`), and the badge
  -- in their pushes (`shown`).
  local function note_campaign(user, rules, now, holders, shown)
    local category = holders > 0 and #rules.caps > 0 and rules.category or uncounted
    if not user.place then
      -- At most 255 campaigns fit. With caps a user never has that many.
      if #user.kept >= 255 then table.remove(user.kept, 1) end
      user.place = #user.kept + 1
    end
    user.when, user.holders, user.shown = now, holders, shown
    user.kept[user.place] =
      struct.pack('>I4', now) .. category .. rules.campaign .. string.char(holders) .. struct.pack('>I4', shown)
  end

  -- Returns whether the app has reported a badge since the campaign was recorded for the user.
  local function has_reported_since(user) return struct.unpack('>I6', user.reported) >= (user.when + 1) * 1000 end

  -- Raises a user's badge for the campaign and returns the new badge.
  local function raise_badge(user, rules)
    user.badge = math.min(user.badge + rules.step, 2147483647)
    return rules.step > 0 and user.badge or 0
  end

  -- Counts at most 512 granted targets for their users, and returns a decision about each. All targets of a user get
  -- the decision about the user's first target. `is_fresh`: the targets are granted for the first time. `decided`:
  -- earlier decisions that Redis has lost; no cap applies to them.
  local function take(pressure, listed, rules, app, now, names, is_fresh, decided)
    local counted, known = read_counted(pressure, listed, rules, app, now, names)
    local decisions = {}
    for i = 1, #names do
      local user, decision, its_decision = counted[names[i]], 0, decided and decided[i]
      if user then
        if not user.place then
          local is_capped = its_decision == withheld_from + 26
          for k, cap in ipairs(rules.caps) do
            is_capped = is_capped or is_fresh and not decided and (user.counts[k] or 0) >= cap.most
          end
          local shown = 0
          if its_decision and not is_capped then
            shown = its_decision < withheld_from and its_decision or 0
            user.badge = math.max(user.badge, shown)
          elseif not is_capped then
            shown = raise_badge(user, rules)
          end
          note_campaign(user, rules, now, is_capped and 0 or 1, shown)
        elseif user.holders > 0 then
          if rules.step > 0 and not decided and has_reported_since(user) then
            note_campaign(user, rules, now, user.holders, raise_badge(user, rules))
          end
          if is_fresh then note_campaign(user, rules, user.when, math.min(user.holders + 1, 255), user.shown) end
        end
        decision = user.holders == 0 and withheld_from + 26 or user.shown
      end
      decisions[i] = decision
    end
    write_counted(pressure, app, counted, known)
    return decisions
  end

  -- Removes at most 512 targets that ended unsent from their users' counters. When a user has no target left, the
  -- campaign no longer counts for the user, and the badge is as before the campaign.
  local function give_back(pressure, listed, rules, app, now, names)
    local counted, known = read_counted(pressure, listed, rules, app, now, names)
    for i = 1, #names do
      local user = counted[names[i]]
      if user and user.place and user.holders > 1 then
        note_campaign(user, rules, user.when, user.holders - 1, user.shown)
      elseif user and user.place and user.holders == 1 then
        if not has_reported_since(user) then user.badge = math.max(0, user.badge - rules.step) end
        table.remove(user.kept, user.place)
        user.place, user.holders = nil, 0
      end
    end
    write_counted(pressure, app, counted, known)
  end

  -- Counts at most 512 targets that were sent, but do not count for their users at present. No cap applies.
  local function count_sent(pressure, listed, rules, app, now, names)
    local counted, known = read_counted(pressure, listed, rules, app, now, names)
    for i = 1, #names do
      local user = counted[names[i]]
      if user and user.place and user.holders > 0 then
        note_campaign(user, rules, user.when, math.min(user.holders + 1, 255), user.shown)
      elseif user then
        if user.place then table.remove(user.kept, user.place) end
        user.place = nil
        note_campaign(user, rules, now, 1, raise_badge(user, rules))
      end
    end
    write_counted(pressure, app, counted, known)
  end

  return {users_of = users_of, read_rules = read_rules, take = take, give_back = give_back, count_sent = count_sent}
end

-- Marks a target as withheld: writes the outcome into its ledger record.
local function withhold(ledger, index, record, decision)
  redis.call('SETRANGE', ledger, index * 12, record:sub(1, 2) .. struct.pack('>I2', decision - withheld_from)
    .. record:sub(5, 5) .. string.char(record:byte(6) + 64) .. record:sub(7))
end
