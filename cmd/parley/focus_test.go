package main

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/gateway/admin"
)

// mandatory are the columns that the Cost and Usage dataset of FOCUS 1.3 must have. (FOCUS 1.3, Cost and
// Usage, Content Constraints of each column: Feature level)
var mandatory = []string{
	"BilledCost", "BillingAccountId", "BillingAccountName", "BillingCurrency", "BillingPeriodEnd", "BillingPeriodStart", "ChargeCategory",
	"ChargeClass", "ChargeDescription", "ChargePeriodEnd", "ChargePeriodStart", "ContractedCost", "EffectiveCost", "HostProviderName",
	"InvoiceIssuerName", "ListCost", "PricingQuantity", "PricingUnit", "ProviderName", "PublisherName", "ServiceCategory", "ServiceName",
	"ServiceProviderName",
}

func TestFocus(t *testing.T) {
	t.Parallel()
	report := admin.UsageReport{Groups: []admin.Usage{
		{Group: "2026-02-28", Also: []string{"maker/x/model-1", "tg", "main", "root"}, Calls: 2, Cost: 1, Input: 10, CacheRead: 5, Output: 3},
		{Group: "2026-12-31", Also: []string{"tools/search", "tg", "main", "tool"}, Calls: 3, Cost: 2_500_000_000_000, Unpriced: 1},
	}}
	var b strings.Builder
	if err := printFocus(&b, report); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%v\n%s", err, b.String())
	}
	for _, name := range mandatory {
		if !slices.Contains(rows[0], name) {
			t.Errorf("no column %s", name)
		}
	}
	standard := slices.IndexFunc(rows[0], func(n string) bool { return strings.HasPrefix(n, "x_") })
	if !slices.IsSorted(rows[0][:standard]) {
		t.Errorf("the columns are %q", rows[0])
	}
	of := func(row int, name string) string {
		t.Helper()
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Fatalf("no column %s", name)
		}
		return rows[row][i]
	}
	for i, want := range []map[string]string{
		{
			"BilledCost": "0.000000000001", "EffectiveCost": "0.000000000001", "ListCost": "0.000000000001", "ContractedCost": "0.000000000001",
			"BillingPeriodStart": "2026-02-01T00:00:00Z", "BillingPeriodEnd": "2026-03-01T00:00:00Z",
			"ChargePeriodStart": "2026-02-28T00:00:00Z", "ChargePeriodEnd": "2026-03-01T00:00:00Z", "ChargeCategory": "Usage", "ChargeClass": "",
			"ServiceProviderName": "maker", "SkuId": "maker/x/model-1", "SkuPriceId": "maker/x/model-1", "PricingUnit": "Tokens", "PricingQuantity": "18",
			"ChargeDescription": "Turn calls of x/model-1 by agent main", "x_Calls": "2", "x_UnpricedCalls": "0",
		},
		{
			"BilledCost": "2.50", "BillingPeriodEnd": "2027-01-01T00:00:00Z", "ChargePeriodEnd": "2027-01-01T00:00:00Z",
			"PricingUnit": "Calls", "PricingQuantity": "3", "ConsumedQuantity": "3", "ServiceProviderName": "tools", "x_UnpricedCalls": "1",
		},
	} {
		for name, value := range want {
			if got := of(i+1, name); got != value {
				t.Errorf("row %d: %s is %q, want %q", i, name, got, value)
			}
		}
		var tags map[string]string
		if err := json.Unmarshal([]byte(of(i+1, "Tags")), &tags); err != nil || tags["agent"] != "main" || tags["channel"] != "tg" {
			t.Errorf("tags %v, %v", tags, err)
		}
	}
	report.Groups = []admin.Usage{{Group: "2026-01-01"}}
	if err := printFocus(&b, report); err == nil || !strings.Contains(err.Error(), "is it as new as this program?") {
		t.Errorf("of an older gateway: %v", err)
	}
}

func TestParseUntil(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{"": {}, "now": {}, "2026-04-01": time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC), "24h": now.Add(-24 * time.Hour)} {
		if got, err := parseUntil(now, text); err != nil || !got.Equal(want) {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if _, err := parseUntil(now, "soon"); err == nil || !strings.Contains(err.Error(), `--until "soon"`) {
		t.Errorf("%v", err)
	}
}
