package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/tools"
)

func TestArgumentsAreRefusedWhenTwoReadersCouldSeeTwoThings(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":`, tools.MaxArgumentDepth+1) + "1" + strings.Repeat("}", tools.MaxArgumentDepth+1)
	keys := make([]string, tools.MaxArgumentKeys+1)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":1`, i)
	}
	for _, c := range []struct{ name, raw, want string }{
		{"same key twice", `{"a":1,"a":2}`, `"a" is given twice`},
		{"same key twice, one escaped", `{"a":1,"\u0061":2}`, `"a" is given twice`},
		{"same key twice below", `{"a":{"b":1,"b":2}}`, `"a.b" is given twice`},
		{"same key twice in an array", `{"a":[{},{"b":1,"b":2}]}`, `"a[1].b" is given twice`},
		{"case variant", `{"command":"ls","Command":"rm"}`, `"command" and "Command" differ in case only`},
		{"case variant, capitals first", `{"Command":"ls","command":"rm"}`, "differ in case only"},
		{"letter that folds into ASCII", "{\"task\":\"a\",\"ta\u017fk\":\"b\"}", "differ in case only"},
		{"Kelvin sign", "{\"k\":\"a\",\"\u212a\":\"b\"}", "differ in case only"},
		{"trailing object", `{"a":1}{"a":2}`, "something follows"},
		{"trailing text", `{"a":1} x`, "something follows"},
		{"array", `[1]`, "must be a JSON object, not an array"},
		{"null", `null`, "not null"},
		{"cut off", `{"a":`, "end too early"},
		{"no JSON", `ls -l`, "not valid JSON"},
		{"comment", `{/*a*/"a":1}`, "not valid JSON"},
		{"too deep", deep, "nested deeper than 32"},
		{"too many keys", "{" + strings.Join(keys, ",") + "}", "more than 1000 keys"},
		{"too long", `{"a":"` + strings.Repeat("x", tools.MaxArgumentBytes) + `"}`, "longer than 262144 bytes"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "not UTF-8"},
		{"huge exponent", `{"a":1e999}`, `"a" is a number out of range`},
		{"huge integer", `{"a":9223372036854775808}`, `"a" is a number out of range`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := tools.DecodeArguments(c.raw)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error that says %q", err, c.want)
			}
		})
	}
}

func TestArgumentsAreWrittenInOneWay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, want string }{
		{``, `{}`},
		{" \n", `{}`},
		{`{"b":1, "a":[true,null,"<é>"]}`, `{"a":[true,null,"<é>"],"b":1}`},
		{`{"n":1.0,"e":1e3,"z":-0,"f":0.50}`, `{"e":1000,"f":0.5,"n":1,"z":0}`},
		{`{"n":9223372036854775807}`, `{"n":9223372036854775807}`},
	} {
		a, err := tools.DecodeArguments(c.raw)
		if err != nil {
			t.Fatalf("%s: %v", c.raw, err)
		}
		if got := a.String(); got != c.want {
			t.Errorf("%s became %s, want %s", c.raw, got, c.want)
		}
	}
}

func TestOnlyTextThatIsNoObjectCountsAsNotJSON(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]bool{`{"a":`: true, `[]`: true, `{"a":1,"a":2}`: false} {
		if _, err := tools.DecodeArguments(raw); errors.Is(err, tools.ErrNotJSON) != want {
			t.Errorf("%s: %v, want ErrNotJSON %v", raw, err, want)
		}
	}
}

func FuzzArgumentsThatPassAreReadTheSameByEverybody(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"A":1,"a":2}`, `{"a":[{"b":null}],"c":1.5e300}`, `{"\ud800":1,"\ud801":2}`, `{"a":1}x`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := tools.DecodeArguments(raw)
		if err != nil {
			return
		}
		again, err := tools.DecodeArguments(a.String())
		if err != nil || again.String() != a.String() {
			t.Fatalf("%q became %q, then %q, %v", raw, a, again, err)
		}
		var m map[string]any
		if err := json.Unmarshal(a.JSON(), &m); err != nil {
			t.Fatalf("%q became %q: %v", raw, a, err)
		}
	})
}
