package signal

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// params are the parameters of a call, read as signal-cli reads them: what may be
// given several times may be one value or an array, under its name or the plural.
type params map[string]json.RawMessage

var errParams = errors.New("params must be an object")

func readParams(raw json.RawMessage) (params, error) {
	p := params{}
	if len(raw) == 0 || string(raw) == "null" {
		return p, nil
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, errParams
	}
	return p, nil
}

func (p params) get(name string) (json.RawMessage, bool) {
	v, ok := p[name]
	return v, ok && string(v) != "null"
}

func (p params) has(name string) bool { _, ok := p.get(name); return ok }

// text gives a string; what is no string reads as it stands.
func (p params) text(name string) string {
	raw, ok := p.get(name)
	if !ok {
		return ""
	}
	return scalar(raw)
}

func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func (p params) list(name string) []string {
	raw, ok := p.get(name)
	if !ok {
		if raw, ok = p.get(name + "s"); !ok {
			return nil
		}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		return []string{scalar(raw)}
	}
	out := make([]string, 0, len(many))
	for _, one := range many {
		out = append(out, scalar(one))
	}
	return out
}

func (p params) flag(name string) bool { return p.text(name) == "true" }

// number gives an integer. Signal-cli fails on a string that holds one.
func (p params) number(name string) int64 {
	raw, ok := p.get(name)
	if !ok {
		return 0
	}
	return integer(name, string(raw))
}

func integer(name, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(internalError(fmt.Sprintf("value of %s cannot be cast to class java.lang.Long", name)))
	}
	return n
}

func (p params) numbers(name string) []int64 {
	var out []int64
	for _, s := range p.list(name) {
		out = append(out, integer(name, s))
	}
	return out
}
