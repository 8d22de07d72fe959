package redis

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"testing"

	"parley/sessions/redis/redistest"

	goredis "github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// asked runs sums, comparisons and sortable texts for lists of amounts that come
// as JSON.
const asked = `
local answers = {}
for i, texts in ipairs(cjson.decode(ARGV[1])) do
  local sum = money.sum(unpack(texts))
  answers[i] = {
    sum or 'overflow',
    money.less(texts[1], texts[#texts]) and '1' or '0',
    string.byte(texts[1]) ~= 45 and money.sortable(texts[1]) or '',
  }
end
return answers`

// amounts are mostly near what a double, a limb or an int64 can just hold.
func amounts() *rapid.Generator[int64] {
	near := []int64{
		0, 1, 1e9, 1e10, 1e15, 1e18, 1 << 31, 1 << 32, 1 << 53, 922337203 * 1e10, 922337204 * 1e9, math.MaxInt64,
		-1, -1e10, -1e15, -1 << 53, -922337203 * 1e10, math.MinInt64,
	}
	return rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1e15, 1e15), rapid.Custom(func(t *rapid.T) int64 {
		n := new(big.Int).SetInt64(rapid.SampledFrom(near).Draw(t, "near"))
		n.Add(n, big.NewInt(rapid.Int64Range(-3, 3).Draw(t, "by")))
		if !n.IsInt64() {
			return math.MaxInt64
		}
		return n.Int64()
	}))
}

// fitting is n as an amount's text.
func fitting(n *big.Int) string {
	if !n.IsInt64() {
		return "overflow"
	}
	return n.String()
}

func TestArithmeticOfAmountsIsThatOfInt64(t *testing.T) {
	t.Parallel()
	c := goredis.NewClient(&goredis.Options{Addr: redistest.Start(t, redistest.Options{}).Addr()})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		cases := rapid.SliceOfN(rapid.SliceOfN(amounts(), 1, 5), 1, 200).Draw(rt, "cases")
		texts := make([][]string, len(cases))
		for i, ns := range cases {
			for _, n := range ns {
				texts[i] = append(texts[i], strconv.FormatInt(n, 10))
			}
		}
		body, err := json.Marshal(texts)
		if err != nil {
			rt.Fatal(err)
		}
		got, err := c.Eval(t.Context(), moneyLua+asked, nil, body).Slice()
		if err != nil {
			rt.Fatal(err)
		}
		for i, ns := range cases {
			sum := new(big.Int)
			for _, n := range ns {
				sum.Add(sum, big.NewInt(n))
			}
			want := []any{fitting(sum), "0", ""}
			if ns[0] < ns[len(ns)-1] {
				want[1] = "1"
			}
			if ns[0] >= 0 {
				want[2] = fmt.Sprintf("%019d", ns[0])
			}
			for k, w := range want {
				if g := got[i].([]any)[k]; g != w {
					rt.Fatalf("answer %d for %v: got %v, want %v", k, ns, g, w)
				}
			}
		}
	})
}
