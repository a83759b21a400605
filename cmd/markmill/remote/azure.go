package remote

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// azureStore is a blob of Azure's.
type azureStore struct {
	address
	client *azblob.Client
	from   string // the credentials, in words
}

const azureHint = "set AZURE_STORAGE_CONNECTION_STRING, or AZURE_STORAGE_ACCOUNT with AZURE_STORAGE_KEY or " +
	"AZURE_STORAGE_SAS_TOKEN"

func (c Client) openAzure(a address) (store, error) {
	s := &azureStore{address: a}
	retry := policy.RetryOptions{MaxRetries: int32(c.tries() - 1), RetryDelay: c.pause(), MaxRetryDelay: 16 * c.pause()}
	o := &azblob.ClientOptions{
		ClientOptions: policy.ClientOptions{Transport: &http.Client{Transport: transport()}, Retry: retry}}
	account := cmp.Or(c.env("AZURE_STORAGE_ACCOUNT"), c.env("AZURE_STORAGE_ACCOUNT_NAME"))
	key := cmp.Or(c.env("AZURE_STORAGE_KEY"), c.env("AZURE_STORAGE_ACCOUNT_KEY"))
	sas := strings.TrimPrefix(c.env("AZURE_STORAGE_SAS_TOKEN"), "?")
	service := "https://" + account + ".blob.core.windows.net/"
	if url := c.env("AZURE_STORAGE_BLOB_ENDPOINT"); url != "" {
		service = strings.TrimSuffix(url, "/") + "/"
	}
	if a.scheme == "abs" {
		named, _, _ := strings.Cut(a.host, ".")
		if service = "https://" + a.host + "/"; named != account {
			key = ""
		}
		account = named
		if a.query != "" {
			sas, key = a.query, ""
		}
	}
	var err error
	switch text := c.env("AZURE_STORAGE_CONNECTION_STRING"); {
	case text != "" && a.scheme == "az":
		s.from = "AZURE_STORAGE_CONNECTION_STRING"
		s.client, err = azblob.NewClientFromConnectionString(text, o)
	case account == "":
		return nil, unreachable(azureHint, nil, "the account of Azure's is not set")
	case key != "":
		s.from = "AZURE_STORAGE_KEY"
		var shared *azblob.SharedKeyCredential
		if shared, err = azblob.NewSharedKeyCredential(account, key); err == nil {
			s.client, err = azblob.NewClientWithSharedKeyCredential(service, shared, o)
		}
	case sas != "":
		s.from = "a shared access signature"
		s.client, err = azblob.NewClientWithNoCredential(service+"?"+sas, o)
	default:
		s.from = noCredentials + "none are in the environment"
		s.client, err = azblob.NewClientWithNoCredential(service, o)
	}
	if err != nil { // its text may contain the key
		return nil, unreachable(azureHint, nil, "the value of %s is not valid", s.from)
	}
	return s, nil
}

func (s *azureStore) read(ctx context.Context) (io.ReadCloser, int64, error) {
	res, err := s.client.DownloadStream(ctx, s.bucket, s.key, nil)
	if err != nil {
		return nil, 0, err
	}
	size := int64(-1)
	if res.ContentLength != nil {
		size = *res.ContentLength
	}
	return res.Body, size, nil
}

func (s *azureStore) write(ctx context.Context, data []byte, mediaType string) error {
	headers := &blob.HTTPHeaders{BlobContentType: &mediaType}
	_, err := s.client.UploadBuffer(ctx, s.bucket, s.key, data, &azblob.UploadBufferOptions{HTTPHeaders: headers})
	return err
}

func (s *azureStore) check(ctx context.Context) error {
	_, err := s.client.ServiceClient().NewContainerClient(s.bucket).GetProperties(ctx, nil)
	return err
}

func (s *azureStore) answer(err error) (answer, bool) {
	var res *azcore.ResponseError
	if !errors.As(err, &res) {
		return answer{}, false
	}
	got := answer{status: res.StatusCode, code: res.ErrorCode}
	if bloberror.HasCode(err, bloberror.ContainerNotFound) {
		got.code = "ContainerNotFound"
	}
	return got, true
}

func (s *azureStore) credentials() (used, hint string) {
	return s.from, azureHint + "; they must be allowed to read or write this blob"
}
