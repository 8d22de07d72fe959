package markup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestSlackGetsMarkdownAndTheSameAsText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ md, markdown, text string }{
		"styles":           {"**b** *i* ~~s~~ `c`", "**b** _i_ ~~s~~ `c`", "*b* _i_ ~s~ `c`"},
		"nested":           {"**b *both* b**", "**b _both_ b**", "*b _both_ b*"},
		"link":             {"[see|this](https://a.example/?x=1&y=(2))", "[see|this](https://a.example/?x=1&y=%282%29)", "<https://a.example/?x=1&y=%282%29|see|this>"},
		"bare link":        {"go https://a.example/b_c", "go https://a.example/b_c", "go https://a.example/b_c"},
		"unsafe link":      {"[x](javascript:alert)", "x", "x"},
		"heading":          {"## A title", "## A title", "*A title*"},
		"list":             {"- one\n- two\n  1. three", "- one\n- two\n    1. three", "• one\n• two\n  1. three"},
		"task":             {"- [x] done", "- ☑ done", "☑ done"},
		"code":             {"```go\na < b && c\n```", "```go\na < b && c\n```", "```\na &lt; b &amp;&amp; c\n```"},
		"quote":            {"> one\n>\n> two", "> one\n>\n> two", "> one\n\n> two"},
		"snake_case":       {"a snake_case_name", "a snake_case_name", "a snake_case_name"},
		"table":            {"| a | b |\n|---|--:|\n| 1 | x\\|y |", "| a | b |\n| --- | ---: |\n| 1 | x\\|y |", "```\na |   b\n--+----\n1 | x|y\n```"},
		"literal marks":    {`1\. not a list \* \# \_x\_`, `1\. not a list \* # \_x\_`, "1. not a list * # _x_"},
		"literal heading":  {`\# no heading`, `\# no heading`, "# no heading"},
		"ampersand":        {"a & b < c > d", "a &amp; b &lt; c &gt; d", "a &amp; b &lt; c &gt; d"},
		"spoiler":          {"||hidden||", "hidden", "hidden"},
		"rule":             {"a\n\n---\n\nb", "a\n\n---\n\nb", "a\n\n———\n\nb"},
		"entity unescaped": {"&lt;b&gt;", "&lt;b&gt;", "&lt;b&gt;"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ms := Slack(c.md)
			if len(ms) != 1 || ms[0].Markdown != c.markdown || ms[0].Text != c.text {
				t.Errorf("Slack(%q) = %#v", c.md, ms)
			}
		})
	}
}

// S22
func TestS22_NoTextCanCallAnybodyInSlack(t *testing.T) {
	t.Parallel()
	calls := []string{
		"<!channel>", "<!here>", "<!everyone>", "<@U0123456>", "<@W0123456|ann>", "<!subteam^S012|@team>", "<#C01|general>",
		"&lt;!channel&gt;", "\\<!channel>", "&#60;!channel&#62;", "<\u200b!channel>", "<!-- <!here> -->",
	}
	for _, call := range calls {
		for _, frame := range []string{
			"%s", "hi %s there", "`%s`", "``%s``", "```\n%s\n```", "    %s", "> %s", "# %s", "- %s", "**%s**", "[%s](https://x.example)",
			"[x](%s)", "| a |\n|---|\n| %s |", "| %s |\n|---|\n| b |", "![%s](https://x.example/a.png)", "<div>%s</div>", "||%s||", "%s\n===",
		} {
			for _, m := range Slack(fmt.Sprintf(frame, call)) {
				for _, s := range []string{m.Markdown, m.Text} {
					if calls := calling(s); calls != "" {
						t.Errorf("%q in %q is sent as %q, which calls %s", call, frame, s, calls)
					}
				}
			}
		}
	}
}

// calling finds what Slack would take for a mention.
func calling(s string) string {
	for _, c := range []string{"<!", "<@", "<#"} {
		if i := strings.Index(s, c); i >= 0 {
			return s[i:]
		}
	}
	return ""
}

// S23
func TestS23_LongTextsBecomeMessagesThatSlackTakes(t *testing.T) {
	t.Parallel()
	table := "| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 30)
	for name, c := range map[string]struct {
		md    string
		least int
	}{
		"paragraphs":          {strings.Repeat("A sentence of words. ", 2000), 4},
		"code":                {"```go\n" + strings.Repeat("x := 1 // <!channel>\n", 2000) + "```", 4},
		"one word":            {strings.Repeat("ä", 30000), 3},
		"escapes":             {strings.Repeat("<&>*_", 5000), 5},
		"two tables":          {table + "\n\nand\n\n" + table, 2},
		"a long table":        {"| a | b |\n|---|---|\n" + strings.Repeat("| one | two |\n", 500), 5},
		"a table of one cell": {"| a |\n|---|\n| " + strings.Repeat("long ", 5000) + " |", 3},
		"many blocks":         {strings.Repeat("a\n\n", 200), 4},
		"many links":          {strings.Repeat("[x](https://a.example/"+strings.Repeat("p", 1900)+") ", 50), 1},
		"many styles":         {strings.Repeat("**b** ", 3000), 2},
		"deep list":           {strings.Repeat("- a\n  - b\n    - c\n", 1000), 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ms := Slack(c.md)
			if len(ms) < c.least {
				t.Errorf("%d messages", len(ms))
			}
			checkSlack(t, ms)
		})
	}
}

func checkSlack(t *testing.T, ms []SlackMessage) {
	t.Helper()
	for _, m := range ms {
		if n := len16(m.Markdown); n > SlackMarkdown-len("(This may be a repeat.)\n\n") {
			t.Errorf("a message of %d characters", n)
		}
		if n := len16(m.Text); n > 40000-100 {
			t.Errorf("a text of %d characters", n)
		}
		if n := strings.Count(m.Markdown, "| --- |"); strings.Contains(m.Markdown, "|---") || n > 1 {
			t.Errorf("%d tables in one message", n)
		}
		if strings.Count(m.Markdown, "```")%2 != 0 {
			t.Errorf("a fence is left open in %q", m.Markdown)
		}
		if !IsVisible(m.Text) || !IsVisible(m.Markdown) {
			t.Errorf("an empty message %+v", m)
		}
		if calling(m.Markdown) != "" || calling(m.Text) != "" {
			t.Errorf("a message calls somebody: %+v", m)
		}
	}
}

func TestAHeadingStaysWithWhatItHeadsInSlack(t *testing.T) {
	t.Parallel()
	ms := Slack(strings.Repeat("a\n\n", slackBlocks-1) + "## Title\n\ntext")
	if len(ms) != 2 || !strings.HasPrefix(ms[1].Markdown, "## Title") {
		t.Errorf("%+v", ms)
	}
}

func TestRandomMarkdownBecomesMessagesThatSlackTakes(t *testing.T) {
	t.Parallel()
	words := []string{
		"**", "*", "_", "~~", "`", "```", "\n", "\n\n", "> ", "- ", "1. ", "# ", "|", "|---|---|\n", "[", "](https://x.example)", "<!channel>", "<@U1>", "&", "<", ">",
		"word", "ä", "😀", "||", "\\", "    ", "\t", "<b>", "\u202e", "\x00", "https://y.example/z",
	}
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 23))
		var b strings.Builder
		for range r.IntN(300) {
			b.WriteString(words[r.IntN(len(words))])
		}
		ms := Slack(b.String())
		for _, m := range ms {
			if len16(m.Markdown) > SlackMarkdown || calling(m.Markdown) != "" || calling(m.Text) != "" {
				t.Fatalf("seed %d: %+v", seed, m)
			}
		}
	}
}
