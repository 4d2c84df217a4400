-- Nothing that was put before is put again.
return put(2, tonumber(ARGV[1]))
