-- Rows of side tables change together. Triples of table, key and "+" with the value, or "-".
for i = 1, #ARGV, 3 do
  local key = T .. ':t:' .. ARGV[i]
  if string.sub(ARGV[i + 2], 1, 1) == '+' then
    call('HSET', key, ARGV[i + 1], string.sub(ARGV[i + 2], 2))
  else
    call('HDEL', key, ARGV[i + 1])
  end
end
return 1
