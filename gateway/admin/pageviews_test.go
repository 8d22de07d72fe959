package admin

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/gateway/page"
)

const evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`&{{.}}\u202e\u2066\u200b\u0007\u2028javascript:alert(3)"

// fill puts the text into everything below v that holds text, and one into what is empty.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint64:
		v.SetUint(7)
	case reflect.Interface:
		return
	case reflect.Slice:
		if depth < 8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth+1)
		}
	case reflect.Pointer:
		if depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), depth+1)
			}
		}
	default:
	}
}

// Whatever stands in what the gateway says, wherever a page shows it, is text, and turns nothing round.
func TestNothingThatIsShownIsMarkup(t *testing.T) {
	t.Parallel()
	s := &Server{}
	for name, body := range map[string]any{
		"overview": &overviewView{}, "sessions": &sessionsView{}, "session": &sessionView{}, "turn": &turnView{}, "waiting": &waitingView{}, "trouble": &troubleView{},
		"letter": &letterView{}, "actions": &ActionPage{}, "why": &whyView{}, "problem": new(string),
	} {
		for _, everything := range []bool{true, false} {
			if everything {
				fill(reflect.ValueOf(body).Elem(), 0)
			}
			var b strings.Builder
			if err := s.Pages().Write(&b, name, page.Page{Title: evil, Body: reflect.ValueOf(body).Elem().Interface()}); err != nil {
				t.Fatal(err)
			}
			// What a form says is not seen, and must be what the gateway calls it.
			html := regexp.MustCompile(`(type="hidden"|<option)[^>]*>`).ReplaceAllString(b.String(), "")
			if everything && !strings.Contains(html, "&lt;script&gt;alert(1)") {
				t.Errorf("%s shows nothing of it:\n%s", name, html)
			}
			for _, bad := range []string{"<script>alert", "<img", "\u202e", "\u2066", "\u200b", "\u0007", "\u2028", `"javascript:`, "'javascript:", " style=", " onclick=", "ZgotmplZ"} {
				if strings.Contains(html, bad) {
					t.Errorf("%s contains %q:\n%s", name, bad, html)
				}
			}
		}
	}
}
