-- A host is leased to one worker at a time. A step takes hosts once: said again, because its answer
-- was lost, it tells what it took, and arriving late it takes nothing.
-- session, number of this step (0 for one that is never said again), now, horizon, hosts
-- wanted, URLs of each to take in hand (a host may want more), front queues in their order.

-- What that step leased and the session still has, as it was told then.
local function taken_by(session, number)
  local leased, hosts, found = call('HGETALL', T .. ':lease:' .. session), {}, {}
  for i = 1, #leased, 2 do
    if tonumber(leased[i + 1]) == number then hosts[leased[i]] = {} end
  end
  if not next(hosts) then return found end
  for _, kept in ipairs(call('HVALS', T .. ':hand:' .. session)) do
    local entry = cmsgpack.unpack(kept)
    local entries = entry[4] == number and hosts[entry[3]]
    if entries then entries[#entries + 1] = entry end
  end
  for host, entries in pairs(hosts) do
    if #entries > 0 then
      table.sort(entries, function(a, b) return a[1] < b[1] end)
      local told, records, k = about(host), {}, entries[1][2]
      for i, entry in ipairs(entries) do records[i] = entry[5] end
      told[4], told[7][k] = told[4] - #records, told[7][k] + #records
      told[8], told[9] = records, k
      found[#found + 1] = told
    end
  end
  return found
end

local session, now, horizon = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
local wanted, batch = tonumber(ARGV[5]), tonumber(ARGV[6])
local number, found = tonumber(ARGV[2]), {}
if not is_live(session) then return found end
if number > 0 then
  if number <= tonumber(call('HGET', T .. ':last', session) or 0) then
    return taken_by(session, number)
  end
  call('HSET', T .. ':last', session, number)
end
for i = 7, #ARGV do
  local k = ARGV[i]
  while #found < wanted do
    local host = call('LPOP', T .. ':f:' .. k)
    if not host then break end
    local key = host_key(host)
    call('HDEL', key, 'f' .. k)
    local s = call('HMGET', key, 'le', 'hd', 'fl', 'at', 'b')
    if not s[1] and not s[2] and not s[3] and call('LLEN', queue_key(k, host)) > 0 then
      if tonumber(s[4] or 0) > now + horizon then
        hold(host, s[4])
      else
        call('HSET', key, 'le', session)
        call('HSET', T .. ':lease:' .. session, host, ARGV[2])
        local told = about(host)
        local urls = batch > 0 and math.max(batch, tonumber(s[5] or 0)) or 0
        told[8] = take(session, host, k, urls, number)
        told[9] = tonumber(k)
        found[#found + 1] = told
      end
    end
  end
end
return found
