package sessiontest
import "testing"
func messages(t *testing.T, open opener) {}
func fences(t *testing.T, open opener) {}
func repeats(t *testing.T, open opener) {}
func hierarchy(t *testing.T, open opener) {}
func money(t *testing.T, open opener) {}
func outbox(t *testing.T, open opener) {}
func model(t *testing.T, open opener) {}
