package prefectdb

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// errToken reports data that was not encrypted with the key, or was changed.
var errToken = errors.New("the encryption key does not decrypt it")

// fernetKey is a key of Fernet: 16 bytes that sign, and 16 that encrypt. It is empty if the database has none.
type fernetKey []byte

const fernetKeySize = 32

func parseKey(text string) (fernetKey, error) {
	key, err := base64.URLEncoding.DecodeString(text)
	if err != nil || len(key) != fernetKeySize {
		return nil, errors.New("the encryption key is not 32 bytes in URL-safe base64")
	}
	return key, nil
}

// open decrypts a token: version, time, initialization vector, text, and their signature.
func (k fernetKey) open(token string) ([]byte, error) {
	const version, ivAt, textAt = 0x80, 1 + 8, 1 + 8 + aes.BlockSize
	data, err := base64.URLEncoding.DecodeString(token)
	if err != nil || len(k) == 0 || len(data) < textAt+aes.BlockSize+sha256.Size || data[0] != version {
		return nil, errToken
	}
	signed, signature := data[:len(data)-sha256.Size], data[len(data)-sha256.Size:]
	mac := hmac.New(sha256.New, k[:aes.BlockSize])
	mac.Write(signed)
	text := signed[textAt:]
	if !hmac.Equal(mac.Sum(nil), signature) || len(text)%aes.BlockSize != 0 {
		return nil, errToken
	}
	block, err := aes.NewCipher(k[aes.BlockSize:])
	if err != nil {
		return nil, fmt.Errorf("decrypt a block document: %w", err)
	}
	cipher.NewCBCDecrypter(block, signed[ivAt:textAt]).CryptBlocks(text, text)
	padding := int(text[len(text)-1])
	if padding == 0 || padding > aes.BlockSize {
		return nil, errToken
	}
	return text[:len(text)-padding], nil
}

// readKey takes the key from the database if none is given, and checks it with the block documents.
func (s *Source) readKey(ctx context.Context, given string) (err error) {
	if given == "" {
		if given, err = s.storedKey(ctx); err != nil {
			return err
		}
	}
	if given != "" {
		if s.key, err = parseKey(given); err != nil {
			return err
		}
	}
	var documents, opened int
	err = s.each(ctx, "SELECT "+s.dialect.text("data", jsonValue)+" FROM block_document", func(values []sql.RawBytes) error {
		documents++
		if _, err := s.decrypt(string(values[0])); err == nil {
			opened++
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the block documents: %w", err)
	}
	if documents > 0 && opened == 0 {
		return ErrKey
	}
	return nil
}

// storedKey returns the key in the database; empty if it has none.
func (s *Source) storedKey(ctx context.Context) (string, error) {
	var text string
	err := s.tx.QueryRowContext(ctx, "SELECT "+s.dialect.text("value", jsonValue)+" FROM configuration WHERE key = 'ENCRYPTION_KEY'").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	var value struct {
		Key string `json:"fernet_key"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &value)
	}
	if err != nil {
		return "", fmt.Errorf("read the encryption key: %w", err)
	}
	return value.Key, nil
}

// decrypt returns the data of a block document. The column has a token as a JSON string, or data in clear text.
func (s *Source) decrypt(data string) (map[string]json.RawMessage, error) {
	text := []byte(data)
	var token string
	if json.Unmarshal(text, &token) == nil {
		var err error
		if text, err = s.key.open(token); err != nil {
			return nil, err
		}
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, errors.New("its data are no JSON object") // The cause quotes the data.
	}
	return fields, nil
}
