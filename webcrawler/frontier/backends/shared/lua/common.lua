-- What every step uses. KEYS[1] is the partition's tag: all keys begin with it, so all are in one
-- slot of a cluster. F, the number of front queues, is set before this text.
local T = KEYS[1]
local call = redis.call
local function host_key(host) return T .. ':h:' .. host end
local function queue_key(k, host) return T .. ':q:' .. k .. ':' .. host end
local function count(name, by) call('HINCRBY', T .. ':n', name, by) end
local function is_live(session) return call('HEXISTS', T .. ':live', session) == 1 end

-- Let a host stand in front queue k if it has URLs there and is neither leased, held nor frozen.
local function stand(host, k)
  local s = call('HMGET', host_key(host), 'le', 'hd', 'fl', 'f' .. k)
  if s[1] or s[2] or s[3] or s[4] then return end
  if call('LLEN', queue_key(k, host)) > 0 then
    call('HSET', host_key(host), 'f' .. k, 1)
    call('RPUSH', T .. ':f:' .. k, host)
  end
end

local function stand_all(host)
  local s = call('HMGET', host_key(host), 'le', 'hd', 'fl')
  if s[1] or s[2] or s[3] then return end
  for k = 1, F do stand(host, k) end
end

local function unread(host)
  local sizes = {}
  for k = 1, F do sizes[k] = call('LLEN', queue_key(k, host)) end
  return sizes
end

local function stored(host)
  local sum = tonumber(call('HGET', host_key(host), 'in') or 0)
  for _, size in ipairs(unread(host)) do sum = sum + size end
  return sum
end

local function hold(host, at)
  call('HSET', host_key(host), 'hd', 1)
  call('ZADD', T .. ':held', at, host)
end

-- Append the URLs that pass the URL-seen test: ARGV from `at` on is host, queue, fingerprint,
-- bucket, record. How many passed.
local function put(at, number)
  local new, frozen, is_frozen = 0, 0, {}
  for i = at, at + (number - 1) * 5, 5 do
    local host, k = ARGV[i], ARGV[i + 1]
    if call('SADD', T .. ':seen:' .. ARGV[i + 3], ARGV[i + 2]) == 1 then
      new = new + 1
      if is_frozen[host] == nil then
        if call('SADD', T .. ':hosts', host) == 1 then count('hosts', 1) end
        is_frozen[host] = call('HEXISTS', host_key(host), 'fl') == 1
      end
      if is_frozen[host] then frozen = frozen + 1 end
      -- A host with more than one there stands already, or does when its lease or hold ends.
      if call('RPUSH', queue_key(k, host), ARGV[i + 4]) == 1 then stand(host, k) end
    end
  end
  if new > 0 then
    count('known', new)
    count('waiting', new)
  end
  if frozen > 0 then count('frozen', frozen) end
  return new
end

-- Take up to `number` URLs of one queue in hand, by the lease of that number.
local function take(session, host, k, number, lease)
  local records = number > 0 and call('LPOP', queue_key(k, host), number) or {}
  if #records == 0 then return records end
  local sequence = call('HINCRBY', T .. ':n', 'sequence', #records) - #records
  local fields = {}
  for i, record in ipairs(records) do
    fields[2 * i - 1] = string.sub(record, 6, 13)
    fields[2 * i] = cmsgpack.pack({sequence + i, tonumber(k), host, lease, record})
  end
  call('HSET', T .. ':hand:' .. session, unpack(fields))
  call('HINCRBY', host_key(host), 'in', #records)
  count('in_hand', #records)
  return records
end

-- A URL leaves the hand; what was kept of it, or nil if it was not in this hand. With the number
-- of a lease: nor if it has come there by another one.
local function let_go(session, fingerprint, lease)
  local kept = call('HGET', T .. ':hand:' .. session, fingerprint)
  if not kept then return nil end
  local entry = cmsgpack.unpack(kept)
  if lease and entry[4] ~= lease then return nil end
  call('HDEL', T .. ':hand:' .. session, fingerprint)
  call('HINCRBY', host_key(entry[3]), 'in', -1)
  count('in_hand', -1)
  return entry
end

-- Put URLs in hand back to the heads of their queues, in their old order.
local function give_back(session, fingerprints, lease)
  local entries = {}
  for _, fingerprint in ipairs(fingerprints) do
    local entry = let_go(session, fingerprint, lease)
    if entry then entries[#entries + 1] = entry end
  end
  table.sort(entries, function(a, b) return a[1] > b[1] end)
  for _, entry in ipairs(entries) do
    call('LPUSH', queue_key(entry[2], entry[3]), entry[5])
  end
  return entries
end

-- A host as a worker is told of it.
local function about(host)
  local h = call('HMGET', host_key(host), 'row', 'fe', 'in', 'fl', 'at', 'le', 'hd')
  return {host, h[1] or '', h[2] or 0, h[3] or 0, h[4] or 0, h[5] or '0', unread(host)}
end

-- How much there is in this partition.
local function look()
  local sizes = {}
  for k = 1, F do sizes[k] = call('LLEN', T .. ':f:' .. k) end
  local first = call('ZRANGE', T .. ':held', 0, 0, 'WITHSCORES')
  local outbox = 0
  for _, session in ipairs(call('HKEYS', T .. ':live')) do
    outbox = outbox + call('HLEN', T .. ':out:' .. session)
  end
  return {call('HGETALL', T .. ':n'), call('ZCARD', T .. ':held'), first[2] or '', sizes, outbox}
end
