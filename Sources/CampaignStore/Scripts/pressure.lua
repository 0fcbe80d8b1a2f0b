-- Shared by the scripts that count what users get; the loader puts it in front of them.
-- What a user's record has: for each app u8 length and name, u32 badge, what the app last said of it: u48 when (ms) and
-- u32 which number, u8 number of times, then for each time at which one of its campaigns came to the user u32 (s), u32
-- category, u64 campaign (digests of their names).
local nothing_said = ('\0'):rep(10)

-- What stands in front of an app's part of a record, its badge, its times, what stands behind it, and what the app last
-- said of its badge.
local function pressure_parts(record, app)
  local name = string.char(#app) .. app
  local at = 1
  while at < #record do
    local behind = at + 1 + record:byte(at)
    local badge, times = struct.unpack('>I4', record, behind), record:byte(behind + 14)
    local past = behind + 15 + times * 16
    if record:sub(at, behind - 1) == name then
      return record:sub(1, at - 1), badge, record:sub(behind + 15, past - 1), record:sub(past),
        record:sub(behind + 4, behind + 13)
    end
    at = past
  end
  return record, 0, '', '', nothing_said
end

-- The record that has these parts; an app of which nothing is known has none.
local function pressure_record(front, app, badge, times, behind, said)
  if badge == 0 and times == '' and said == nothing_said then return front .. behind end
  local part = string.char(#app) .. app .. struct.pack('>I4', badge) .. said .. string.char(#times / 16) .. times
  return front .. part .. behind
end
