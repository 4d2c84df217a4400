-- A session lives while it is renewed; one that was given up for dead does not come back.
-- Steps arrive in the order they were told, so what it has here is what it had when it told this
-- one; not so only if an answer was lost, or Redis has lost something.
-- session, seconds, "new" to begin, number of the last answered step that takes hosts, hosts it has,
-- sum of the numbers of their leases, URLs it has in hand. Redis's own clock decides.
-- Whether it lives, who does not, whether it has here what it said: not asked while a step that
-- takes hosts is under way.
local time = call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
if ARGV[3] ~= 'new' and not is_live(ARGV[1]) then return {0, {}, 1} end
call('HSET', T .. ':live', ARGV[1], string.format('%.3f', now + tonumber(ARGV[2])))
local dead, all = {}, call('HGETALL', T .. ':live')
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) < now then dead[#dead + 1] = all[i] end
end
if ARGV[3] == 'new' then return {1, dead, 1} end
local answered, number, sum = tonumber(ARGV[4]), 0, 0
for _, lease in ipairs(call('HVALS', T .. ':lease:' .. ARGV[1])) do
  if tonumber(lease) > answered then return {1, dead, 1} end
  number, sum = number + 1, sum + tonumber(lease)
end
local is_even = number == tonumber(ARGV[5]) and sum == tonumber(ARGV[6])
  and call('HLEN', T .. ':hand:' .. ARGV[1]) == tonumber(ARGV[7])
return {1, dead, is_even and 1 or 0}
