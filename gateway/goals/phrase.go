package goals

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Says reports whether an answer says that something was reached: its last sentence has one
// of the phrases as whole words, is no question, and does not deny, doubt or put off what it
// says. It errs on the side of silence, because /done is there. (AD02, AD04)
func Says(answer string, phrases []string) bool {
	sentence := lastSentence(answer)
	if strings.Contains(sentence, "?") {
		return false
	}
	words := wordsOf(sentence)
	for _, p := range phrases {
		phrase := wordsOf(p)
		for i := range words {
			if len(phrase) > 0 && hasPrefix(words[i:], phrase) && affirms(words[:i], words[i+len(phrase):]) {
				return true
			}
		}
	}
	return false
}

// Words that keep a sentence from saying that something was reached.
var (
	// Anywhere before the phrase.
	denying = []string{
		"not", "no", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot", "can't", "hardly", "barely",
		"almost", "nearly", "partly", "partially", "half", "unable", "failed", "fails", "incomplete", "unfinished",
		"if", "when", "once", "until", "till", "unless", "before", "after", "as", "whether", "far", "except",
		"will", "would", "should", "could", "must", "may", "might", "can", "need", "needs", "to", "let's", "gets", "get", "being",
	}
	// Anywhere behind it.
	taking = []string{"yet", "if", "once", "until", "unless", "when", "soon", "except", "but", "tomorrow", "later", "not", "partly", "partially", "than"}
)

// affirms reports whether neither the words before a phrase nor those behind it take it back.
func affirms(before, behind []string) bool {
	if n := len(before); n > 0 && before[n-1] == "well" { // well done: praise
		return false
	}
	for _, w := range before {
		if slices.Contains(denying, w) || strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "'ll") {
			return false
		}
	}
	return !slices.ContainsFunc(behind, func(w string) bool { return slices.Contains(taking, w) })
}

func hasPrefix(words, phrase []string) bool {
	return len(words) >= len(phrase) && slices.Equal(words[:len(phrase)], phrase)
}

// What an answer quotes, it does not say.
var (
	codeBlock = regexp.MustCompile("(?s)```.*?(```|$)")
	quoted    = regexp.MustCompile("`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»|(?m:^>.*$)")
)

// lastSentence returns the last sentence of a text that has a word.
func lastSentence(text string) string {
	text = quoted.ReplaceAllString(codeBlock.ReplaceAllString(text, "\n"), " ")
	end := ""
	for line := range strings.Lines(text) {
		for _, s := range sentences(line) {
			if len(wordsOf(s)) > 0 {
				end = s
			}
		}
	}
	return end
}

// sentences cuts a line behind each ".", "!", "?" and "…" that a space follows.
func sentences(line string) (all []string) {
	from, mark := 0, false
	for i, r := range line {
		if mark && unicode.IsSpace(r) {
			all, from = append(all, line[from:i]), i
		}
		mark = strings.ContainsRune(".!?…", r) || mark && strings.ContainsRune(`*_")”’`, r)
	}
	return append(all, line[from:])
}

// wordsOf returns the words of a text in lower case. A hyphen, an apostrophe
// and an underscore are part of a word between letters: half-done is one.
func wordsOf(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	words := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\'' && r != '-' && r != '_'
	})
	for i, w := range words {
		words[i] = strings.Trim(w, "'-_")
	}
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}
