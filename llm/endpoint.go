package llm

import (
	"errors"
	"net/url"
	"strings"
)

// CheckBaseURL reports what is wrong with an address for requests. The address
// itself is not in the error.
func CheckBaseURL(s string) error {
	_, err := Endpoint(s, "")
	return err
}

// Endpoint returns the address of a method under the base URL of a provider, which
// may end in a slash or not. The base URL is not in the error.
func Endpoint(base, method string) (string, error) {
	u, err := url.Parse(strings.TrimRight(base, "/") + "/")
	switch {
	case err != nil:
		return "", errors.New("not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return "", errors.New("neither http nor https")
	case u.Host == "":
		return "", errors.New("no host")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", errors.New("user, query and fragment are not taken")
	}
	return u.ResolveReference(&url.URL{Path: method}).String(), nil
}
