package edge

import "net/url"

// ForwardedPath is the escaped path under which a request for u should be sent
// on: as the client wrote it, its escapes included, and rooted, without empty
// segments, "." and "..". It may hold bytes that a request line may not. Routes
// are matched by this reading of a path among others, so who sends on another
// path undoes what they say.
func ForwardedPath(u *url.URL) string { return clean(sentPath(u)) }
