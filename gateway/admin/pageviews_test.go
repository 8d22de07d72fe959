package admin

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"parley/gateway/page"
)

const evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'`&{{.}}\u202e\u2066\u200b\u0007\u2028javascript:alert(3)\" onclick=\"alert(4)"

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

// shown are the pages, each with the view that it shows.
func shown() map[string]pageOf {
	return map[string]pageOf{
		"overview": view(func(v overviewView) page.Page { return page.Page{Body: v.body} }),
		"sessions": view(func(v sessionsView) page.Page { return page.Page{Body: v.body} }),
		"session":  view(func(v sessionView) page.Page { return page.Page{Heading: v.heading(), Body: v.body} }),
		"turn":     view(func(v turnView) page.Page { return page.Page{Body: v.body} }),
		"waiting":  view(func(v waitingView) page.Page { return page.Page{Body: v.body} }),
		"trouble":  view(func(v troubleView) page.Page { return page.Page{Body: v.body} }),
		"letter":   view(func(v letterView) page.Page { return page.Page{Body: v.body} }),
		"actions":  view(func(v ActionPage) page.Page { return page.Page{Body: v.body} }),
		"why":      view(func(v whyView) page.Page { return page.Page{Body: v.body} }),
	}
}

// pageOf makes a page of nothing, or of what is hostile everywhere.
type pageOf func(hostile bool) page.Page

func view[V any](show func(V) page.Page) pageOf {
	return func(hostile bool) page.Page {
		var v V
		if hostile {
			fill(reflect.ValueOf(&v).Elem(), 0)
		}
		return show(v)
	}
}

// Whatever stands in what the gateway says, wherever a page shows it, is text, and turns nothing round;
// no attribute ends early, and every link and form leads to the page itself.
func TestNothingThatIsShownIsMarkup(t *testing.T) {
	t.Parallel()
	for name, build := range shown() {
		for _, hostile := range []bool{true, false} {
			p := build(hostile)
			p.Title = evil
			whole := page.Frame{By: evil, Token: "token", Now: time.Date(2026, 5, 1, 13, 0, 0, 0, time.UTC)}.Around(p)
			if hostile && !strings.Contains(whole, "&lt;script&gt;alert(1)") {
				t.Errorf("%s shows nothing of it:\n%s", name, whole)
			}
			// What a form says is not seen, and must be what the gateway calls it.
			html := regexp.MustCompile(`<(input type="hidden"|option)[^>]*>`).ReplaceAllString(whole, "")
			for _, bad := range []string{"\u202e", "\u2066", "\u200b", "\u0007", "\u2028"} {
				if strings.Contains(html, bad) {
					t.Errorf("%s contains %q:\n%s", name, bad, html)
				}
			}
			checkTags(t, name, whole)
		}
	}
}

// What tags of a page look like, and the elements that there are.
var (
	tag       = regexp.MustCompile(`^/?[a-z0-9]+( [a-z-]+(="[^"<>]*")?)*$`)
	attribute = regexp.MustCompile(` ([a-z-]+)(?:="([^"]*)")?`)
	known     = regexp.MustCompile(`^/?(html|head|meta|title|link|script|body|a|header|nav|main|h[123]|p|footer|time|button|form|input|label|select|option|section|article|div|ul|li|dl|dt|dd|table|caption|thead|tbody|tfoot|tr|th|td|span|strong|code|bdi|pre|meter|details|summary)( |$)`)
)

// checkTags finds what a hostile text may have made of a page: elements and attributes that pages do not
// have, and addresses elsewhere.
func checkTags(t *testing.T, name, html string) {
	t.Helper()
	for _, part := range strings.Split(strings.TrimPrefix(html, "<!doctype html>"), "<")[1:] {
		in, text, ok := strings.Cut(part, ">")
		if !ok || strings.Contains(text, ">") || !tag.MatchString(in) || !known.MatchString(in) {
			t.Errorf("%s has <%s", name, part)
		}
		for _, m := range attribute.FindAllStringSubmatch(in, -1) {
			switch key, value := m[1], m[2]; {
			case strings.HasPrefix(key, "on"), key == "style", key == "formaction":
				t.Errorf("%s has <%s>", name, in)
			case key == "src" && value != "/static/page.js":
				t.Errorf("%s loads %s", name, value)
			case key == "href", key == "action":
				if strings.HasPrefix(value, "//") || !strings.ContainsAny(value[:min(1, len(value))], "/?#") || strings.ContainsAny(value, "\\ \n\t") {
					t.Errorf("%s leads to %q", name, value)
				}
			}
		}
	}
	if n := strings.Count(html, "<script"); n != 1 {
		t.Errorf("%s has %d scripts", name, n)
	}
}
