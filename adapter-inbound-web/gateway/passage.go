package gateway

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

type passageKey struct{}

// passage is what is known of a request on its way.
type passage struct {
	// header is that of the answer, and decided what was in it beforehand.
	header, decided http.Header
	body            *clientBody // nil without content
	// duplex: the answer may begin before the request has ended.
	duplex bool
}

func passageOf(ctx context.Context) *passage {
	p, _ := ctx.Value(passageKey{}).(*passage)
	return p
}

// prepare makes the header of the answer ready for what the answer adds.
func (p *passage) prepare() {
	// An informational answer (1xx) of the application has cleared it.
	maps.Copy(p.header, p.decided)
	if p.duplex && p.body.isAwaited() {
		// net/http does not find the next request behind what is left of this one,
		// and panics when it looks for it.
		p.header["Connection"] = []string{"close"}
	}
}

// contentTimeout is how long a failure waits for content that is not long. A
// client that sends it in time keeps its connection.
const contentTimeout = time.Second

// hurry bounds how long net/http waits, before it sends an answer over HTTP/1, for
// content that nobody wants any more.
func (p *passage) hurry(w http.ResponseWriter) {
	if p.body.isAwaited() {
		// Where there are no deadlines, there is no waiting.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(contentTimeout))
	}
}

// clientBody remembers how the client's content ended.
type clientBody struct {
	io.ReadCloser
	ended  atomic.Bool
	broken atomic.Bool // the client, and not the application, is to blame
}

// Read reads what the client sends.
func (b *clientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.ended.Store(errors.Is(err, io.EOF))
		b.broken.Store(!errors.Is(err, io.EOF))
	}
	return n, err
}

// isAwaited reports whether the client has yet to send something.
func (b *clientBody) isAwaited() bool { return b != nil && !b.ended.Load() }

func (b *clientBody) isBroken() bool { return b != nil && b.broken.Load() }

// isTimeout reports whether err says that time ran out.
func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// bufferBytes is what one direction of one request holds in memory.
const bufferBytes = 32 << 10

// buffers lends buffers to copy answers with.
type buffers struct{ pool sync.Pool }

// Get lends a buffer.
func (b *buffers) Get() []byte {
	if buffer, ok := b.pool.Get().(*[bufferBytes]byte); ok {
		return buffer[:]
	}
	return make([]byte, bufferBytes)
}

// Put takes a buffer back.
func (b *buffers) Put(buffer []byte) { b.pool.Put((*[bufferBytes]byte)(buffer)) }
