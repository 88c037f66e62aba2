package config

import "crypto/tls"

const (
	certificateKey = "app.web.tls.cert-file"
	privateKeyKey  = "app.web.tls.key-file"
)

// TLS is how the public listener proves who it is. The zero TLS means that it
// does not, and speaks in clear.
type TLS struct {
	// CertificateFile holds the certificate and those that vouch for it, KeyFile
	// its private key, both in PEM form.
	CertificateFile, KeyFile string
}

// Enabled reports whether the listener speaks TLS.
func (t TLS) Enabled() bool { return t.CertificateFile != "" }

type tlsSection struct {
	CertFile string `koanf:"cert-file"`
	KeyFile  string `koanf:"key-file"`
}

// tls reads the files, so that a pair that does not fit is a fault and not a
// listener that nobody can talk to.
func (r *resolver) tls(section tlsSection) TLS {
	switch {
	case section.CertFile == "" && section.KeyFile == "":
		return TLS{}
	case section.KeyFile == "":
		r.addUnlessReported(privateKeyKey, "must be given, because %s is", certificateKey)
		return TLS{}
	case section.CertFile == "":
		r.addUnlessReported(certificateKey, "must be given, because %s is", privateKeyKey)
		return TLS{}
	}
	certificate := r.certificateFile(certificateKey, section.CertFile)
	key := r.certificateFile(privateKeyKey, section.KeyFile)
	if certificate != nil && key != nil {
		if _, err := tls.X509KeyPair(certificate, key); err != nil {
			r.add(certificateKey, "does not go with %s: %v", privateKeyKey, err)
		}
	}
	return TLS{CertificateFile: section.CertFile, KeyFile: section.KeyFile}
}

// certificateFile is nil after a fault.
func (r *resolver) certificateFile(key, path string) []byte {
	content, err := r.sources.read(path, maxCertificateBytes)
	if err != nil {
		r.add(key, "names a file that cannot be read: %v", err)
		return nil
	}
	if content == nil {
		content = []byte{}
	}
	return content
}

// clearHTTP2 is false where it has no effect.
func (r *resolver) clearHTTP2(web webSection) bool {
	const key = "app.web.h2c"
	if web.H2C && (web.TLS.CertFile != "" || web.TLS.KeyFile != "") {
		r.warn(key, "has no effect, because %s is given: HTTP/2 is agreed on in the handshake", certificateKey)
		return false
	}
	return web.H2C
}
