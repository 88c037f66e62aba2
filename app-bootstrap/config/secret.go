package config

import "strings"

// MaxSecretBytes bounds a secret and the file that holds it.
const MaxSecretBytes = 64 << 10

// fileSuffix turns the key of a secret into the key of the file that holds it.
const fileSuffix = "-file"

// secretText is what the two keys of one secret come to.
type secretText struct {
	// key is the key that the text came from.
	key  string
	text string
	// given: one of the keys is set.
	given bool
	// faulty: a fault already says why there is no text.
	faulty bool
}

// secret reads the secret of key, which stands there itself or in the file that
// key-file names.
func (r *resolver) secret(key, text, file string) secretText {
	switch {
	case text != "" && file != "":
		r.add(key, "is set together with %s, keep one of them", key+fileSuffix)
		return secretText{key: key, given: true, faulty: true}
	case text != "":
		if len(text) > MaxSecretBytes {
			r.add(key, "is larger than %d bytes", MaxSecretBytes)
			return secretText{key: key, given: true, faulty: true}
		}
		return secretText{key: key, text: text, given: true}
	case file != "":
		return r.secretFile(key+fileSuffix, file)
	default:
		return secretText{key: key}
	}
}

func (r *resolver) secretFile(key, path string) secretText {
	content, err := r.sources.read(path, MaxSecretBytes)
	if err != nil {
		r.add(key, "names a file that cannot be read: %v", err)
		return secretText{key: key, given: true, faulty: true}
	}
	text := withoutNewline(string(content))
	if text == "" {
		r.add(key, "names a file that is empty")
		return secretText{key: key, given: true, faulty: true}
	}
	return secretText{key: key, text: text, given: true}
}

// withoutNewline drops the one line ending that editors and echo append. Other
// white space may belong to the secret.
func withoutNewline(text string) string {
	line, ended := strings.CutSuffix(text, "\n")
	if !ended {
		return text
	}
	return strings.TrimSuffix(line, "\r")
}
