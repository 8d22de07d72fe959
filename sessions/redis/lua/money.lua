-- Exact arithmetic of amounts: integers of 64 bits as decimal texts. A number of
-- Lua is a double, which is exact to 2^53 only: about 9,007 dollars.
local money = {}
do
  local base = 10000000000 -- ten digits in each of two limbs

  -- split is the limbs of a text, both with its sign.
  local function split(text)
    local sign = 1
    if string.byte(text) == 45 then
      sign, text = -1, string.sub(text, 2)
    end
    local digits = #text
    if digits <= 10 then
      return 0, sign * tonumber(text)
    end
    return sign * tonumber(string.sub(text, 1, digits - 10)), sign * tonumber(string.sub(text, digits - 9))
  end

  -- sum adds up amounts; nil: no amount can hold it. Only the sum must fit.
  function money.sum(...)
    local high, low = 0, 0
    for i = 1, select('#', ...) do
      local h, l = split((select(i, ...)))
      high, low = high + h, low + l
    end
    local carry = math.floor(low / base)
    high, low = high + carry, low - carry * base
    if high > 922337203 or high == 922337203 and low > 6854775807
      or high < -922337204 or high == -922337204 and low < 3145224192 then
      return nil
    end
    local sign = ''
    if high < 0 then
      sign, high = '-', -high
      if low > 0 then
        high, low = high - 1, base - low
      end
    end
    if high == 0 then
      return sign .. string.format('%.0f', low)
    end
    return sign .. string.format('%.0f%010.0f', high, low)
  end

  -- less says whether a is less than b.
  function money.less(a, b)
    local ah, al = split(a)
    local bh, bl = split(b)
    return ah < bh or ah == bh and al < bl
  end

  -- sortable is an amount that is not negative as a text that sorts as it does.
  function money.sortable(text)
    return string.rep('0', 19 - #text) .. text
  end
end
