package problems_test

import (
	"errors"
	"io/fs"
	"testing"

	"parley/problems"
)

func TestList(t *testing.T) {
	t.Parallel()
	t.Run("is no error when it is empty", func(t *testing.T) {
		t.Parallel()
		var l problems.List
		l.Check("a", nil)
		l.Check("a", l.Err())
		if err := l.Err(); err != nil {
			t.Errorf("got %v", err)
		}
	})
	t.Run("puts what a part found below the part's path", func(t *testing.T) {
		t.Parallel()
		var inner, outer problems.List
		inner.Add("people[0]", "%q is no id", "x")
		inner.Add("", "debounce is negative")
		inner.Check("key", problems.At("", "%w: beside the certificate", problems.ErrRequired))
		outer.Check("bots.a", inner.Err())
		outer.Check("file", fs.ErrNotExist)
		outer.Check("", problems.At("mode", "neither of both"))
		want := "bots.a.people[0]: \"x\" is no id\nbots.a: debounce is negative\nbots.a.key: required: beside the certificate\n" +
			"file: file does not exist\nmode: neither of both"
		if got := outer.Err().Error(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if err := outer.Err(); !errors.Is(err, fs.ErrNotExist) || !errors.Is(err, problems.ErrRequired) {
			t.Error("the kinds of the problems are lost")
		}
	})
}
