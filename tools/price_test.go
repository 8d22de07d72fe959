package tools_test

import (
	"errors"
	"strings"
	"testing"

	"parley/costs"
	"parley/tools"
)

func TestParsePrice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]costs.Amount{"": 0, "0.005": costs.USD / 200, "1000": 1000 * costs.USD, "0.000000000001": 1, "$2": 2 * costs.USD} {
		if got, err := tools.ParsePrice(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"0": "leave it out where calls cost nothing", "0.00": "leave it out", "-1": "is below 0", "1e-3": "only digits and one point", "free": "only digits and one point",
		"1000.000000000001": "is more than the $1000.00 that a call may cost at most", "9999999999": "out of range", "0.0000000000001": "more than twelve decimals", "0,5": "only digits",
	} {
		if got, err := tools.ParsePrice(text); err == nil || got != 0 || !strings.HasPrefix(err.Error(), "not what one call costs, in dollars such as 0.005: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

// What is made of a set has its prices, also for tools that take another's place.
func TestPricesGoWithTheSet(t *testing.T) {
	t.Parallel()
	set, err := tools.NewSet(called(t, "a"), called(t, "b"))
	if err != nil {
		t.Fatal(err)
	}
	priced := set.WithPrices(map[string]costs.Amount{"a": 7, "none": 9})
	more, err := priced.With(called(t, "c"))
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*tools.Set{
		"only": priced.Only("a"), "without": priced.Without("b"), "bound": priced.Bind(called(t, "a")), "with": more, "plan": priced.Plan(),
		"priced again": priced.WithPrices(map[string]costs.Amount{"b": 1}),
	} {
		if got := s.Price("a"); got != 7 {
			t.Errorf("%s: a costs %d", name, got)
		}
	}
	var none *tools.Set
	if set.Price("a") != 0 || priced.Price("b") != 0 || priced.Price("none") != 0 || none.Price("a") != 0 || none.WithPrices(nil).Len() != 0 {
		t.Error("what has no price costs something")
	}
}

func TestUnpaid(t *testing.T) {
	t.Parallel()
	of := tools.Errorf(tools.Permanent, "no")
	err := tools.Unpaid(of)
	if !errors.Is(err, tools.ErrUnpaid) || !errors.Is(err, of) || tools.KindOf(err) != tools.Permanent || err.Error() != "no" || tools.Unpaid(nil) != nil || errors.Is(of, tools.ErrUnpaid) {
		t.Errorf("%v", err)
	}
	if err := tools.Unpaid(tools.Errorf(tools.Transient, "later")); !errors.Is(err, tools.ErrTransient) {
		t.Errorf("%v", err)
	}
}
