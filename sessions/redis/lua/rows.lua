-- Runs reads in one state of the database. ARGV: the era that the caller knows ('':
-- any), and a list of reads as JSON.
--
-- A read has a command. With each it has reads for every name that the command
-- returned, one or a list: behind the arguments of their commands at the positions in
-- at stands the name, without the first characters of which cut says how many there
-- are. With any only those names count of which one of these reads finds something; an
-- empty one never does.
-- Such a read is answered by what the command returned, and the answers for each name.
local P, ERA = KEYS[1], ARGV[1]
local call = redis.call

local run

-- runAll is the answers of several reads for a name.
local function runAll(reads, name)
  local found = {}
  for i = 1, #reads do found[i] = run(reads[i], name) end
  return found
end

local function counts(any, name)
  for i = 1, #any do
    if run(any[i], name) then return true end
  end
  return false
end

function run(read, name)
  local command, at, each, any = read.command, read.at, read.each, read.any
  if at then
    read.stems = read.stems or { unpack(command) }
    for i = 1, #at do command[at[i]] = read.stems[at[i]] .. name end
  end
  local found = call(unpack(command))
  if not each then return found end
  local names, below = type(found) == 'table' and found or { found or '' }, {}
  for i = 1, #names do
    local one = read.cut and string.sub(names[i], read.cut + 1) or names[i]
    below[i] = one ~= '' and (not any or counts(any, one)) and runAll(each, one) or {}
  end
  return { found, below }
end

local now = call('HMGET', P .. 'meta', 'era', 'gen')
if ERA ~= '' and now[1] ~= ERA then return { 'era' } end
return { 'ok', now[2] or '0', runAll(cjson.decode(ARGV[2]), '') }
