package web

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"parley/tools"
)

// maxTitle is how many bytes of a title are shown.
const maxTitle = 300

// convert makes Markdown of an HTML page; left says that it leaves something out because
// there was too much. What is nested too deep, or has too much formatting that does not
// end, becomes plain text.
func convert(text string, at *url.URL) (title, markdown string, left bool, err error) {
	bounded, ok := bound(text)
	if !ok {
		return "", plain(text), false, nil
	}
	doc, err := html.ParseWithOptions(strings.NewReader(bounded), html.ParseOptionEnableScripting(false))
	if err != nil {
		return "", plain(text), false, nil //nolint:nilerr // the parser refuses what is deeper than it goes, and nothing else
	}
	title, at = readHead(doc, at)
	p := pruner{base: at, nodes: maxNodes, text: maxContent}
	p.prune(doc, 0)
	out, err := newConverter().ConvertNode(doc)
	if err != nil {
		return "", "", false, fmt.Errorf("make Markdown of the page: %w", err)
	}
	return title, tools.Visible(string(out)), p.left, nil
}

// newConverter makes a converter. It does not write backslashes before what looks like
// Markdown: a model does not need them, and its search for them is quadratic.
func newConverter() *converter.Converter {
	return converter.NewConverter(converter.WithEscapeMode(converter.EscapeModeDisabled), converter.WithPlugins(
		base.NewBasePlugin(),
		commonmark.NewCommonmarkPlugin(
			commonmark.WithListEndComment(false),
			commonmark.WithLinkEmptyContentBehavior(commonmark.LinkBehaviorSkip),
			commonmark.WithLinkEmptyHrefBehavior(commonmark.LinkBehaviorSkip),
		),
		strikethrough.NewStrikethroughPlugin(),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal), table.WithHeaderPromotion(true)),
	))
}

// readHead returns the title of a page, and what its links are relative to.
func readHead(doc *html.Node, at *url.URL) (string, *url.URL) {
	title, hasBase := "", false
	for n := range doc.Descendants() {
		switch {
		case n.DataAtom == atom.Title && n.Namespace == "" && n.FirstChild != nil && title == "":
			title = line(html.EscapeString(n.FirstChild.Data), maxTitle)
		case n.DataAtom == atom.Base && !hasBase:
			if u, err := at.Parse(attribute(n, "href")); err == nil && attribute(n, "href") != "" {
				at, hasBase = u, true
			}
		}
	}
	return title, at
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name && a.Namespace == "" {
			return a.Val
		}
	}
	return ""
}
