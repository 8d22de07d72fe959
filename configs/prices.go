package configs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"parley/costs"
)

// Prices reads a list of prices as [costs.Load] does, from JSON if name ends in
// .json and else from YAML of the same form. In YAML the decimals need no
// quotes: what is written is read, never a float. All mistakes are said at once,
// each with the line where its entry begins.
func Prices(name string, data []byte) (*costs.Catalogue, error) {
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		return costs.Load(bytes.NewReader(data), name) // it names the file
	}
	reader := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := reader.Decode(&doc)
	if err == nil {
		err = reader.Decode(&second)
	}
	switch {
	case err == nil:
		return nil, fmt.Errorf("%w: %s: line %d: a second document (---) begins here; a list is one", costs.ErrPrices, name, second.Line)
	case !errors.Is(err, io.EOF):
		m := syntaxMistake(data, err)
		return nil, fmt.Errorf("%w: %s: line %d: %s", costs.ErrPrices, name, m.Line, m.Message)
	}
	var b bytes.Buffer
	if len(doc.Content) == 0 {
		b.WriteString("{}")
	} else if err := writeJSON(&b, doc.Content[0], "", 0); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", costs.ErrPrices, name, err)
	}
	lines := rowLines(&doc)
	return costs.LoadAt(&b, name, func(i int) string { // it names the file
		if i < len(lines) {
			return "line " + strconv.Itoa(lines[i])
		}
		return "row " + strconv.Itoa(i+1)
	})
}

// rowLines are the lines where the rows begin.
func rowLines(doc *yaml.Node) (lines []int) {
	if len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	top := doc.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		if top.Content[i].Value != "prices" {
			continue
		}
		for _, row := range top.Content[i+1].Content {
			lines = append(lines, row.Line)
		}
	}
	return lines
}

// deepest is deeper than any list of prices.
const deepest = 16

// writeJSON writes n as JSON, all values as texts but counts of tokens.
func writeJSON(b *bytes.Buffer, n *yaml.Node, key string, depth int) error {
	at := func(what string) error {
		return fmt.Errorf("line %d: %s", n.Line, what) // for the operator
	}
	switch {
	case depth > deepest:
		return at("value nested too deeply")
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return at("anchors and aliases (& and *) are not read here: write it out")
	case n.Style&yaml.TaggedStyle != 0:
		return at("tags mean nothing here; a value that begins with ! needs quotes")
	}
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i := 0; i+1 < len(n.Content); i += 2 {
			k := n.Content[i]
			if k.Kind != yaml.ScalarNode {
				return at("a plain key belongs here")
			}
			if i > 0 {
				b.WriteByte(',')
			}
			writeText(b, k.Value)
			b.WriteByte(':')
			if err := writeJSON(b, n.Content[i+1], k.Value, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, e := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, e, key, depth+1); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		count, err := strconv.ParseInt(n.Value, 10, 64)
		switch {
		case n.Tag == "!!null":
			b.WriteString("null")
		case key == "above" && err == nil:
			b.WriteString(strconv.FormatInt(count, 10))
		default:
			writeText(b, n.Value)
		}
	default:
		return at("value not allowed here")
	}
	return nil
}

func writeText(b *bytes.Buffer, s string) {
	text, _ := json.Marshal(s) // a text always can
	b.Write(text)
}
