-- No more pages are begun than the crawl may fetch: every page under way has a ticket. A worker that
-- is not heard of for its lease has none any more; what it has spent stays spent.
-- session, seconds, limit, pages that are known to have ended, pages this session has spent,
-- tickets it has in use, tickets it wants to have. Answers with the tickets it has, the pages that
-- all have spent, and the tickets of others.
local key, session, in_use, wanted = T .. ':tickets', ARGV[1], tonumber(ARGV[6]), tonumber(ARGV[7])
local time = call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1000000
local spent, others = tonumber(ARGV[5]), 0
local all = call('HGETALL', key)
for i = 1, #all, 2 do
  if all[i] ~= session then
    local theirs, used, untill = string.match(all[i + 1], '(%d+) (%d+) ([%d.]+)')
    spent = spent + tonumber(used)
    if tonumber(untill) > now then others = others + tonumber(theirs) end
  end
end
spent = math.max(spent, tonumber(ARGV[4]))
local has = math.max(in_use, math.min(wanted, tonumber(ARGV[3]) - spent - others))
call('HSET', key, session, string.format('%d %s %.3f', has, ARGV[5], now + tonumber(ARGV[2])))
return {has, spent, others}
