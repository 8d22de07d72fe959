package hypertext

// Class is the attribute class.
func Class(value string) Node { return attribute{name: "class", value: value} }

// ID is the attribute id.
func ID(value string) Node { return attribute{name: "id", value: value} }

// Lang is the attribute lang.
func Lang(value string) Node { return attribute{name: "lang", value: value} }

// Charset is the attribute charset.
func Charset(value string) Node { return attribute{name: "charset", value: value} }

// Name is the attribute name.
func Name(value string) Node { return attribute{name: "name", value: value} }

// Content is the attribute content.
func Content(value string) Node { return attribute{name: "content", value: value} }

// Rel is the attribute rel.
func Rel(value string) Node { return attribute{name: "rel", value: value} }

// Type is the attribute type.
func Type(value string) Node { return attribute{name: "type", value: value} }

// TabIndex is the attribute tabindex.
func TabIndex(value string) Node { return attribute{name: "tabindex", value: value} }

// Role is the attribute role.
func Role(value string) Node { return attribute{name: "role", value: value} }

// Method is the attribute method.
func Method(value string) Node { return attribute{name: "method", value: value} }

// Value is the attribute value.
func Value(value string) Node { return attribute{name: "value", value: value} }

// Scope is the attribute scope.
func Scope(value string) Node { return attribute{name: "scope", value: value} }

// DateTime is the attribute datetime.
func DateTime(value string) Node { return attribute{name: "datetime", value: value} }

// MaxLength is the attribute maxlength.
func MaxLength(value string) Node { return attribute{name: "maxlength", value: value} }

// AutoComplete is the attribute autocomplete.
func AutoComplete(value string) Node { return attribute{name: "autocomplete", value: value} }

// AutoCapitalize is the attribute autocapitalize.
func AutoCapitalize(value string) Node { return attribute{name: "autocapitalize", value: value} }

// SpellCheck is the attribute spellcheck.
func SpellCheck(value string) Node { return attribute{name: "spellcheck", value: value} }

// InputMode is the attribute inputmode.
func InputMode(value string) Node { return attribute{name: "inputmode", value: value} }

// Pattern is the attribute pattern.
func Pattern(value string) Node { return attribute{name: "pattern", value: value} }

// Placeholder is the attribute placeholder.
func Placeholder(value string) Node { return attribute{name: "placeholder", value: value} }

// Min is the attribute min.
func Min(value string) Node { return attribute{name: "min", value: value} }

// Max is the attribute max.
func Max(value string) Node { return attribute{name: "max", value: value} }

// Low is the attribute low.
func Low(value string) Node { return attribute{name: "low", value: value} }

// High is the attribute high.
func High(value string) Node { return attribute{name: "high", value: value} }

// Optimum is the attribute optimum.
func Optimum(value string) Node { return attribute{name: "optimum", value: value} }

// Dir is the attribute dir.
func Dir(value string) Node { return attribute{name: "dir", value: value} }

// Required is the attribute required, which has no value.
func Required() Node { return attribute{name: "required", bare: true} }

// Selected is the attribute selected, which has no value.
func Selected() Node { return attribute{name: "selected", bare: true} }

// Hidden is the attribute hidden, which has no value.
func Hidden() Node { return attribute{name: "hidden", bare: true} }

// Defer is the attribute defer, which has no value.
func Defer() Node { return attribute{name: "defer", bare: true} }

// Data is an attribute without a value, for a script: data-NAME.
func Data(name string) Node { return attribute{name: "data-" + name, bare: true} }

// Aria is an attribute for programs that read pages aloud: aria-NAME.
func Aria(name, value string) Node { return attribute{name: "aria-" + name, value: value} }

// Href is where a link leads.
func Href(to Address) Node { return attribute{name: "href", value: to.text, leads: true} }

// Action is where a form is sent.
func Action(to Address) Node { return attribute{name: "action", value: to.text, leads: true} }

// Src is what an element loads.
func Src(from Address) Node { return attribute{name: "src", value: from.text, leads: true} }
