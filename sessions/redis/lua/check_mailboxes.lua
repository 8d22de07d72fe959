-- uses: turn
local tokens, wrong = call('ZRANGEBYLEX', P .. 'boxes', '(' .. R.after, '+', 'LIMIT', 0, R.limit), {}
local function bad(what, token) wrong[#wrong + 1] = { what, token } end
for _, token in ipairs(tokens) do
  local b = box.load(token)
  if not b then
    bad('mailboxes that are listed and not there', token)
  else
    local t = b.turn ~= '' and turn.load(b.turn)
    if b.turn ~= '' and (not t or t.state == 'done' or t.token ~= token) then bad('mailboxes whose open turn is none', token) end
    if b.controls ~= call('ZCARD', P .. 'controls:' .. token) then bad('mailboxes whose control requests are miscounted', token) end
    if b.read > b.touched then bad('mailboxes that read what they never saw', token) end
    if not box.indexed(b) then bad('mailboxes that Recover and Held would not see', token) end
  end
end
return { #tokens == R.limit and tokens[#tokens] or '', wrong }
