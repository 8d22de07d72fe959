package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"parley/gateway/admin"
)

// focusBy returns what a row of the FOCUS export stands for.
func focusBy() (by admin.Grouping, also []admin.Grouping) {
	return "day", []admin.Grouping{"model", "channel", "agent", "purpose"}
}

// focusColumn is one column of the Cost and Usage dataset of FOCUS 1.3, or one of parley's own, which
// begin with x_.
type focusColumn struct {
	name  string
	value func(focusRow) string
}

// focusRow is a group of calls with what its names say.
type focusRow struct {
	admin.Usage

	day                             time.Time
	provider, model                 string
	channel, agent, purpose, tagged string
}

// unit returns how the row is measured and how much it is: tokens; where there are none, as of tools,
// calls.
func (r focusRow) unit() (string, int64) {
	if tokens := r.Input + r.CacheRead + r.CacheWrite + r.Output; tokens > 0 {
		return "Tokens", tokens
	}
	return "Calls", r.Calls
}

// focusColumns returns the columns in the order of the specification: all that are mandatory, those
// recommended or conditional that parley knows, and its own. The names of providers are the
// operator's. parley is no issuer of invoices: what is billed is what it reckons by the list of prices.
func focusColumns() []focusColumn {
	text := func(s string) func(focusRow) string { return func(focusRow) string { return s } }
	cost := func(r focusRow) string { return r.Cost.Exact() }
	provider := func(r focusRow) string { return r.provider }
	at := func(f func(focusRow) time.Time) func(focusRow) string {
		return func(r focusRow) string { return f(r).Format("2006-01-02T15:04:05Z") }
	}
	month := func(r focusRow) time.Time { return time.Date(r.day.Year(), r.day.Month(), 1, 0, 0, 0, 0, time.UTC) }
	unit := func(r focusRow) string { u, _ := r.unit(); return u }
	quantity := func(r focusRow) string { _, n := r.unit(); return strconv.FormatInt(n, 10) }
	count := func(f func(focusRow) int64) func(focusRow) string {
		return func(r focusRow) string { return strconv.FormatInt(f(r), 10) }
	}
	return []focusColumn{
		{"BilledCost", cost},
		{"BillingAccountId", provider},
		{"BillingAccountName", provider},
		{"BillingCurrency", text("USD")},
		{"BillingPeriodEnd", at(func(r focusRow) time.Time { return month(r).AddDate(0, 1, 0) })},
		{"BillingPeriodStart", at(month)},
		{"ChargeCategory", text("Usage")},
		{"ChargeClass", text("")}, // no correction
		{"ChargeDescription", func(r focusRow) string {
			return fmt.Sprintf("%s calls of %s by agent %s", plainPurpose(r.purpose), r.model, r.agent)
		}},
		{"ChargeFrequency", text("Usage-Based")},
		{"ChargePeriodEnd", at(func(r focusRow) time.Time { return r.day.AddDate(0, 0, 1) })},
		{"ChargePeriodStart", at(func(r focusRow) time.Time { return r.day })},
		{"ConsumedQuantity", quantity},
		{"ConsumedUnit", unit},
		{"ContractedCost", cost},
		{"EffectiveCost", cost},
		{"HostProviderName", provider},
		{"InvoiceIssuerName", provider},
		{"ListCost", cost},
		{"PricingQuantity", quantity},
		{"PricingUnit", unit},
		{"ProviderName", provider},  // replaced in 1.3, and mandatory still
		{"PublisherName", provider}, // as above
		{"ServiceCategory", text("AI and Machine Learning")},
		{"ServiceName", func(r focusRow) string { return r.provider + " models" }},
		{"ServiceProviderName", provider},
		{"ServiceSubcategory", text("Generative AI")},
		{"SkuId", func(r focusRow) string { return r.provider + "/" + r.model }},
		{"SkuPriceId", func(r focusRow) string { return r.provider + "/" + r.model }},
		{"Tags", func(r focusRow) string { return r.tagged }},
		{"x_Calls", count(func(r focusRow) int64 { return r.Calls })},
		{"x_UnpricedCalls", count(func(r focusRow) int64 { return r.Unpriced })},
		{"x_InterruptedCalls", count(func(r focusRow) int64 { return r.Interrupted })},
		{"x_InputTokens", count(func(r focusRow) int64 { return r.Input })},
		{"x_CacheReadTokens", count(func(r focusRow) int64 { return r.CacheRead })},
		{"x_CacheWriteTokens", count(func(r focusRow) int64 { return r.CacheWrite })},
		{"x_OutputTokens", count(func(r focusRow) int64 { return r.Output })},
		{"x_ReasoningTokens", count(func(r focusRow) int64 { return r.Reasoning })},
	}
}

// plainPurpose says what calls were for as a word that begins a sentence.
func plainPurpose(purpose string) string {
	if purpose == "root" {
		return "Turn"
	}
	return strings.ToUpper(purpose[:min(1, len(purpose))]) + purpose[min(1, len(purpose)):]
}

// printFocus writes the dataset, without a row for the total, as CSV.
func printFocus(w io.Writer, u admin.UsageReport) error {
	columns := focusColumns()
	out := csv.NewWriter(w)
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = c.name
	}
	if err := out.Write(head); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	for _, g := range u.Groups {
		row, err := newFocusRow(g)
		if err != nil {
			return err
		}
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.value(row)
		}
		if err := out.Write(cells); err != nil {
			return fmt.Errorf("write CSV: %w", err)
		}
	}
	out.Flush()
	return out.Error() // the caller says what failed
}

func newFocusRow(g admin.Usage) (r focusRow, err error) {
	_, also := focusBy()
	if len(g.Also) != len(also) {
		return r, fmt.Errorf("the gateway sums up by %d things, not by %d: is it as new as this program?", len(g.Also)+1, len(also)+1) // for the operator
	}
	r = focusRow{Usage: g, channel: g.Also[1], agent: g.Also[2], purpose: g.Also[3]}
	if r.day, err = time.Parse(time.DateOnly, g.Group); err != nil {
		return r, fmt.Errorf("the day of a row: %w", err)
	}
	r.provider, r.model, _ = strings.Cut(g.Also[0], "/")
	tags, err := json.Marshal(map[string]string{"agent": r.agent, "channel": r.channel, "purpose": r.purpose})
	r.tagged = string(tags)
	return r, err // texts
}
