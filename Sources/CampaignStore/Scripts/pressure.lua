-- Shared by the scripts that count what users get; the loader puts it in front of them.
-- What a user's record has: for each app u8 length and name, u32 badge, u8 number of times, then for each time at which
-- one of its campaigns came to the user u32 (s), u32 category, u64 campaign (digests of their names).

-- What stands in front of an app's part of a record, its badge, its times, and what stands behind it.
local function pressure_parts(record, app)
  local name = string.char(#app) .. app
  local at = 1
  while at < #record do
    local behind = at + 1 + record:byte(at)
    local badge, times = struct.unpack('>I4B', record, behind)
    local past = behind + 5 + times * 16
    if record:sub(at, behind - 1) == name then
      return record:sub(1, at - 1), badge, record:sub(behind + 5, past - 1), record:sub(past)
    end
    at = past
  end
  return record, 0, '', ''
end

-- The record that has these parts; an app of which nothing is counted has none.
local function pressure_record(front, app, badge, times, behind)
  if badge == 0 and times == '' then return front .. behind end
  return front .. string.char(#app) .. app .. struct.pack('>I4B', badge, #times / 16) .. times .. behind
end
