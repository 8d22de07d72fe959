-- What every script but commit.lua begins with. Go calls it with the prefix of all
-- keys, the request as JSON, the era, and the number of the fact.
local P = KEYS[1]
local R = cjson.decode(ARGV[1])
local ERA, FACT = ARGV[2], tonumber(ARGV[3])
local call = redis.call

-- int is a whole number as text. (Lua itself would write 1e+15.)
local function int(n) return string.format('%.0f', n) end

-- id joins texts to one, so that different ones never make the same.
local function id(...)
  local parts = {}
  for i = 1, select('#', ...) do
    local s = (select(i, ...))
    parts[i] = #s .. ':' .. s
  end
  return table.concat(parts)
end

-- refuse ends the script with an answer that is no success. Nothing may have been
-- written before it.
local function refuse(kind, text, data) error({ refused = kind, text = text or '', data = data }, 0) end

-- hash is all fields of a hash, or nil when there is none.
local function hash(key)
  local flat = call('HGETALL', key)
  if #flat == 0 then return nil end
  local h = {}
  for i = 1, #flat, 2 do h[flat[i]] = flat[i + 1] end
  return h
end

-- numbers makes numbers of the named fields; what is missing is 0.
local function numbers(h, names)
  for _, name in ipairs(names) do h[name] = tonumber(h[name] or 0) end
  return h
end

-- flat is a row as a list of names and texts.
local function flat(h)
  local list = {}
  for name, value in pairs(h) do
    local kind = type(value)
    if kind == 'number' then value = int(value) end
    if kind == 'number' or kind == 'string' then
      list[#list + 1] = name
      list[#list + 1] = value
    end
  end
  return list
end

-- store writes a row: numbers and texts.
local function store(key, h) call('HSET', key, unpack(flat(h))) end

-- applied notes that the fact is done with. Facts are numbered without gaps, but
-- come in any order: those below the mark are all done with.
local function applied()
  local meta = P .. 'meta'
  local mark = tonumber(call('HGET', meta, 'facts') or 0)
  if FACT <= mark then return end
  if FACT > mark + 1 then
    call('ZADD', P .. 'facts', FACT, int(FACT))
    return
  end
  mark = FACT
  while call('ZREM', P .. 'facts', int(mark + 1)) == 1 do mark = mark + 1 end
  call('HSET', meta, 'facts', mark)
end

local function isApplied()
  return FACT <= tonumber(call('HGET', P .. 'meta', 'facts') or 0) or call('ZSCORE', P .. 'facts', int(FACT)) ~= false
end
