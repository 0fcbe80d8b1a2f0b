#!lua flags=no-writes
-- queue: reads a page of the jobs that wait to be taken in, from the one that came last on.
-- Invariant: a page is bounded by its jobs and by its bytes, as each job may have a megabyte, and the list any length.
-- KEYS 1 producers' list, or a worker's intake
-- ARGV 1 where the page begins, 2 jobs at most, 3 bytes after which it ends
-- Returns {length of the list, jobs...}
local page, bytes = {redis.call('LLEN', KEYS[1])}, 0
for first = tonumber(ARGV[1]), ARGV[1] + ARGV[2] - 1, 8 do
  local jobs = redis.call('LRANGE', KEYS[1], first, first + 7)
  for _, job in ipairs(jobs) do
    page[#page + 1] = job
    bytes = bytes + #job
  end
  if #jobs < 8 or bytes >= tonumber(ARGV[3]) then break end
end
return page
