package sqlite

import (
	"errors"
	"testing"
)

func TestATableForgetsWhatWasNotUsedLately(t *testing.T) {
	t.Parallel()
	rows := newTable[int, string](10)
	for i := range 100 {
		rows.learn(i, "row")
		rows.age()
		if _, ok := rows.get(0); !ok {
			t.Fatalf("the row that is used was forgotten after %d others", i)
		}
	}
	if n := len(rows.young) + len(rows.old); n > 22 {
		t.Errorf("%d rows are known", n)
	}
	if _, ok := rows.get(50); ok {
		t.Error("an old row is still known")
	}
}

func TestATableStoresARowOnceAndSaysWhatItWas(t *testing.T) {
	t.Parallel()
	rows := newTable[int, string](10)
	rows.learn(1, "one")
	rows.put(1, "uno")
	rows.put(2, "two")
	rows.put(1, "eins")
	stores := 0
	store := func(dirty []*cachedRow[string]) error {
		stores++
		if len(dirty) != 2 || dirty[0].now != "eins" || *dirty[0].before != "one" || dirty[1].before != nil {
			t.Errorf("%+v, %+v", dirty[0], dirty[1])
		}
		return nil
	}
	for range 2 {
		if err := rows.flush(store); err != nil {
			t.Fatal(err)
		}
	}
	if stores != 1 {
		t.Errorf("stored %d times", stores)
	}
	rows.put(1, "un")
	if err := rows.flush(func(dirty []*cachedRow[string]) error {
		if *dirty[0].before != "eins" {
			t.Errorf("was %q", *dirty[0].before)
		}
		return errors.New("no")
	}); err == nil {
		t.Error("the error is lost")
	}
	rows.forget()
	if _, ok := rows.get(1); ok {
		t.Error("it is known after it was forgotten")
	}
	if err := rows.flush(func([]*cachedRow[string]) error { return errors.New("no") }); err != nil {
		t.Error("something is stored after it was forgotten")
	}
}
