box.owned(R.fence)
local key = P .. 'sess:' .. R.id
local parent = call('HGET', key, 'parent')
if parent then
  if parent ~= R.parent then refuse('refused', 'it is there with the parent ' .. parent) end
  return { 0, call('HGETALL', key) }
end
local above = call('HMGET', P .. 'sess:' .. R.parent, 'root', 'depth')
if not above[1] then refuse('notfound', 'its parent: session ' .. R.parent) end
local depth = tonumber(above[2]) + 1
if depth > R.deepest then
  refuse('refused', 'it would stand at depth ' .. depth .. ' of at most ' .. R.deepest)
end
session.make({
  id = R.id, key = R.key, parent = R.parent, root = above[1], depth = depth, tool_call = R.tool_call, role = R.role,
  policy = R.policy, title = R.title, created = R.created,
}, R.token)
return { 1, call('HGETALL', key) }
