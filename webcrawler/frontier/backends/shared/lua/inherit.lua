-- What a dead worker had in hand waits again, and its hosts pass to the one that noticed, which
-- sets their clocks and releases them. heir, the dead one, number of this step.
local heir, dead = ARGV[1], ARGV[2]
if not is_live(heir) then return {{}, {}} end
call('HDEL', T .. ':live', dead)
local hosts = {}
for _, host in ipairs(call('HKEYS', T .. ':lease:' .. dead)) do hosts[host] = true end
for _, entry in ipairs(give_back(dead, call('HKEYS', T .. ':hand:' .. dead))) do
  local owner = call('HGET', host_key(entry[3]), 'le')
  if not owner or owner == dead then hosts[entry[3]] = true end
  stand_all(entry[3])
end
call('DEL', T .. ':lease:' .. dead)
call('HDEL', T .. ':last', dead)
local passed, outbox = {}, {}
for host in pairs(hosts) do
  call('HSET', host_key(host), 'le', heir)
  call('HDEL', host_key(host), 'hd')
  call('ZREM', T .. ':held', host)
  call('HSET', T .. ':lease:' .. heir, host, ARGV[3])
  local told = about(host)
  told[8] = tonumber(ARGV[3])
  passed[#passed + 1] = told
end
local kept = call('HGETALL', T .. ':out:' .. dead)
for i = 1, #kept, 2 do
  call('HSET', T .. ':out:' .. heir, kept[i], kept[i + 1])
end
call('DEL', T .. ':out:' .. dead)
local mine = call('HGETALL', T .. ':out:' .. heir)
for i = 1, #mine, 2 do outbox[#outbox + 1] = {mine[i], mine[i + 1]} end
return {passed, outbox}
