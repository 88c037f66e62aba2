package edge

import (
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// isPlain reports whether r can be looked up as it is, because its path has one
// reading only. Host names matter only if routes name hosts.
func isPlain(r *http.Request, hostsMatter bool) bool {
	return r.URL.RawPath == "" && isCleanPath(r.URL.Path) &&
		r.Method != http.MethodConnect && // ServeMux does not strip its port
		strings.ToUpper(r.Method) == r.Method &&
		(!hostsMatter || canonicalHost(r.Host) == hostname(r.Host))
}

// isCleanPath may call a clean path unclean, such as one with a name that starts
// with a dot. A semicolon makes a second reading.
func isCleanPath(p string) bool {
	return strings.HasPrefix(p, "/") && !strings.Contains(p, "//") && !strings.Contains(p, "/.") && !strings.Contains(p, ";")
}

// canonicalHost is host in lower case, without port, final dot and the brackets
// of an IPv6 address.
func canonicalHost(host string) string {
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostname(host), "[]"), "."))
}

// hostname is host without port.
func hostname(host string) string {
	if !strings.Contains(host, ":") {
		return host
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return host
	}
	return name
}

// readings are the clean, escaped paths that u may mean to those who handle it
// later: the path as it was sent, the same with escaped dots taken for dots, and
// the path decoded, in which an escaped slash separates; each of them also
// without path parameters, which servlet containers drop before they look.
func readings(u *url.URL) []string {
	sent := sentPath(u)
	found := readingsOf(sent)
	if bare := withoutParameters(sent); bare != sent {
		found = append(found, readingsOf(bare)...)
	}
	return found
}

func readingsOf(sent string) []string {
	found := []string{reescape(clean(sent)), reescape(clean(escapedDots.Replace(sent)))}
	decoded, err := url.PathUnescape(sent)
	if err != nil {
		return found
	}
	found = append(found, escape(clean(decoded)))
	if bare := withoutParameters(decoded); bare != decoded {
		found = append(found, escape(clean(bare)))
	}
	return found
}

var escapedDots = strings.NewReplacer("%2e", ".", "%2E", ".")

func escape(p string) string { return (&url.URL{Path: p}).EscapedPath() }

// withoutParameters is p without what follows a semicolon in each segment (RFC
// 3986, section 3.3).
func withoutParameters(p string) string {
	if !strings.Contains(p, ";") {
		return p
	}
	segments := strings.Split(p, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, ";")
	}
	return strings.Join(segments, "/")
}

// sentPath is the path as the client escaped it. EscapedPath alone forgets that
// when the path holds a byte that should have been escaped and was not.
func sentPath(u *url.URL) string {
	if u.Opaque != "" {
		return u.Opaque // "GET http:path"
	}
	if decoded, err := url.PathUnescape(u.RawPath); err == nil && decoded == u.Path && u.RawPath != "" {
		return u.RawPath
	}
	return u.EscapedPath()
}

// reescape escapes each segment of a clean path as package url would, so that it
// takes the path for valid. A segment that reads "." or ".." was sent escaped and
// stays so.
func reescape(p string) string {
	segments := strings.Split(p, "/")
	for i, segment := range segments {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			decoded = segment
		}
		segments[i] = url.PathEscape(decoded)
		if decoded == "." || decoded == ".." {
			segments[i] = strings.ReplaceAll(decoded, ".", "%2E")
		}
	}
	return strings.Join(segments, "/")
}

// clean is p rooted, without empty segments, "." and "..". A slash at the end
// stays.
func clean(p string) string {
	cleaned := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && cleaned != "/" {
		cleaned += "/"
	}
	return cleaned
}

// withPath is r as far as a lookup needs it, with another path, which is clean
// and escaped.
func withPath(r *http.Request, escaped string) *http.Request {
	host := canonicalHost(r.Host)
	u := &url.URL{Path: escaped, RawPath: escaped, Host: host}
	if decoded, err := url.PathUnescape(escaped); err == nil {
		u.Path = decoded
	}
	return &http.Request{Method: strings.ToUpper(r.Method), Host: host, URL: u}
}
