-- Which workers live; see heartbeat.lua.
local worker = {}

function worker.gone(name, nonce) return call('SISMEMBER', P .. 'gone', id(name, nonce)) == 1 end

local function workerLives(member, now) return tonumber(call('HGET', P .. 'until', member) or 0) > now end

function worker.lives(name, nonce, now) return nonce ~= '' and workerLives(id(name, nonce), now) end

-- left is up to limit mailboxes that are owed work by workers that do not live,
-- those first that wait longest. What the worker of the name and nonce has is not
-- among them.
function worker.left(name, nonce, now, limit)
  local found = {}
  for _, owner in ipairs(call('SMEMBERS', P .. 'owners')) do
    if owner ~= id(name, nonce) and not workerLives(owner, now) then
      local owes = call('ZRANGE', P .. 'owes:' .. owner, 0, limit - 1, 'WITHSCORES')
      for i = 1, #owes, 2 do found[#found + 1] = { token = owes[i], since = tonumber(owes[i + 1]) } end
    end
  end
  table.sort(found, function(a, b)
    if a.since ~= b.since then return a.since < b.since end
    return a.token < b.token
  end)
  local tokens = {}
  for i = 1, math.min(limit, #found) do tokens[i] = found[i].token end
  return tokens
end
