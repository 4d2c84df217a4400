-- A session lives while it is renewed; one that was given up for dead does not come back.
-- session, seconds, "new" to begin. Redis's own clock decides.
local time = call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
if ARGV[3] ~= 'new' and not is_live(ARGV[1]) then return {0, {}, 0} end
call('HSET', T .. ':live', ARGV[1], string.format('%.3f', now + tonumber(ARGV[2])))
local dead, all = {}, call('HGETALL', T .. ':live')
for i = 1, #all, 2 do
  if tonumber(all[i + 1]) < now then dead[#dead + 1] = all[i] end
end
return {1, dead, call('HLEN', T .. ':lease:' .. ARGV[1])}
