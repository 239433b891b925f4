package sns

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// ErrForeign is wrapped when a URL does not belong to SNS.
var ErrForeign = errors.New("the URL does not belong to Amazon SNS")

// host is the form of the hosts of SNS, one for each region: us-east-1, us-gov-west-1. Buckets of S3 with the name sns have
// hosts that look alike, such as sns.s3-us-west-2.amazonaws.com.
var host = regexp.MustCompile(`^sns\.([a-z]{2,4}(?:-[a-z]{2,12}){1,2}-[0-9]{1,2})\.amazonaws\.com(?:\.cn)?$`)

// ParseHosts checks additional hosts, each a name or an address with an optional port.
func ParseHosts(hosts []string) error {
	for _, h := range hosts {
		if u, err := url.Parse("https://" + h); err != nil || u.Host != h || h == "" {
			return fmt.Errorf("%q is not a host with an optional port", h)
		}
	}
	return nil
}

// check returns a URL that may be fetched: HTTPS, of a host of SNS or of an additional one. The error wraps ErrForeign.
func check(address string, additional []string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL", ErrForeign)
	}
	switch name := strings.ToLower(u.Host); {
	case u.Scheme != "https":
		return nil, fmt.Errorf("%w: its scheme is not https", ErrForeign)
	case u.User != nil || u.Fragment != "":
		return nil, fmt.Errorf("%w: it has a user or a fragment", ErrForeign)
	case !host.MatchString(name) && !slices.ContainsFunc(additional, func(h string) bool { return strings.EqualFold(h, name) }):
		return nil, fmt.Errorf("%w: its host is not sns.REGION.amazonaws.com", ErrForeign)
	}
	return u, nil
}
