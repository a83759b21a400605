package remote

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/hashicorp/go-retryablehttp"
)

// openS3 returns a file in S3 or on a compatible server. It needs only three kinds of requests, so they are built here
// and signed by AWS's package: its S3 client slows down every start and the first build (docs/performance.md).
func (c Client) openS3(a address) (*service, error) {
	settings, err := c.awsSettings()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(a.bucket, "arn:") || strings.HasSuffix(a.bucket, "--x-s3") {
		return nil, unreachable("give the bucket, or the alias of its access point, which ends in -s3alias", nil,
			"access points by ARN and directory buckets are not supported")
	}
	keys, err := c.awsCredentials(settings)
	if err != nil {
		return nil, err
	}
	s := &service{address: a, client: c.http(), used: keys.from,
		hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile of ~/.aws; " +
			"they must be allowed to read or write this key"}
	s.client.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	region := settings.region
	s.moved = func(st status) bool {
		was := region
		region = cmp.Or(st.header.Get("x-amz-bucket-region"), region)
		moved := []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest}
		return region != was && slices.Contains(moved, st.status)
	}
	s.request = func(ctx context.Context, t task) (*retryablehttp.Request, error) {
		at := s3Bucket(settings.endpoint, region, a.bucket)
		if t.verb != check {
			at += "/" + httpbinding.EscapePath(a.key, false)
		}
		method := [...]string{read: http.MethodGet, write: http.MethodPut, check: http.MethodHead}[t.verb]
		req, err := newRequest(ctx, method, at, t.data)
		if err != nil {
			return nil, err
		}
		if t.mediaType != "" {
			req.Header.Set("Content-Type", t.mediaType)
		}
		return req, keys.sign(ctx, req, t.data, "s3", region)
	}
	return s, nil
}

// s3Bucket returns the address of a bucket. Servers other than Amazon's seldom have a host name per bucket.
func s3Bucket(endpoint, region, bucket string) string {
	switch host := "s3." + region + "." + awsDomain(region); {
	case endpoint != "":
		return strings.TrimSuffix(endpoint, "/") + "/" + httpbinding.EscapePath(bucket, true)
	case strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyz0123456789-") == "": // a dot would not match the certificate
		return "https://" + bucket + "." + host
	default:
		return "https://" + host + "/" + httpbinding.EscapePath(bucket, true)
	}
}

// awsDomain returns the domain of a region's services. The partitions are those of partitions.json in AWS's SDKs.
func awsDomain(region string) string {
	for _, p := range [][2]string{{"cn-", "amazonaws.com.cn"}, {"us-iso-", "c2s.ic.gov"}, {"us-isob-", "sc2s.sgov.gov"},
		{"eu-isoe-", "cloud.adc-e.uk"}, {"us-isof-", "csp.hci.ic.gov"}, {"eusc-", "amazonaws.eu"}} {
		if strings.HasPrefix(region, p[0]) {
			return p[1]
		}
	}
	return "amazonaws.com"
}

// sign signs a request, if there are credentials.
func (k awsKeys) sign(ctx context.Context, req *retryablehttp.Request, data []byte, service, region string) error {
	if k.provider == nil {
		return nil
	}
	keys, err := k.provider.Retrieve(ctx)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if service == "s3" {
		req.Header.Set("X-Amz-Content-Sha256", digest)
	}
	return v4.NewSigner().SignHTTP(ctx, keys, req.Request, digest, service, region, time.Now(),
		func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
}
