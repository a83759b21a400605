package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// amazon is a file in S3, or on a server with its protocol.
type amazon struct {
	address
	client *s3.Client
	keys   awsKeys
}

func (c Client) openS3(ctx context.Context, a address) (store, error) {
	settings, err := c.awsSettings()
	if err != nil {
		return nil, err
	}
	retries := func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = c.tries(), 16*c.pause()
			o.Backoff = retry.BackoffDelayerFunc(func(n int, _ error) (time.Duration, error) {
				return c.pause() << min(n, 4), nil
			})
		})
	}
	s := &amazon{address: a}
	if s.keys, err = c.awsCredentials(ctx, settings, retries); err != nil {
		return nil, err
	}
	o := s3.Options{Region: settings.region, Credentials: s.keys.provider, Retryer: retries(),
		HTTPClient: &http.Client{Transport: transport()},
		// Not all servers that speak the protocol know the checksums that newer clients add.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired}
	if settings.endpoint != "" { // other servers seldom have a host name for each bucket
		o.BaseEndpoint, o.UsePathStyle = aws.String(settings.endpoint), true
	}
	s.client = s3.New(o)
	return s, nil
}

// inRegion calls do, and once more when the service answers that the bucket is in another region.
func (s *amazon) inRegion(do func(...func(*s3.Options)) error) error {
	err := do()
	var res *smithyhttp.ResponseError
	if !errors.As(err, &res) || res.Response == nil {
		return err
	}
	region := res.Response.Header.Get("x-amz-bucket-region")
	moved := []int{http.StatusMovedPermanently, http.StatusTemporaryRedirect, http.StatusBadRequest}
	if region == "" || region == s.client.Options().Region || !slices.Contains(moved, res.HTTPStatusCode()) {
		return err
	}
	return do(func(o *s3.Options) { o.Region = region })
}

func (s *amazon) read(ctx context.Context) (body io.ReadCloser, size int64, err error) {
	err = s.inRegion(func(in ...func(*s3.Options)) error {
		out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &s.key}, in...)
		if err == nil {
			body, size = out.Body, -1
			if out.ContentLength != nil {
				size = *out.ContentLength
			}
		}
		return err
	})
	return body, size, err
}

func (s *amazon) write(ctx context.Context, data []byte, mediaType string) error {
	return s.inRegion(func(in ...func(*s3.Options)) error {
		_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &s.key, Body: bytes.NewReader(data),
			ContentType: &mediaType, ContentLength: aws.Int64(int64(len(data)))}, in...)
		return err
	})
}

func (s *amazon) check(ctx context.Context) error {
	err := s.inRegion(func(in ...func(*s3.Options)) error {
		_, err := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket}, in...)
		return err
	})
	if got, ok := s.answer(err); ok && got.status == http.StatusNotFound { // an answer to HEAD has no body to say it
		return status{answer{status: got.status, code: "NoSuchBucket"}}
	}
	return err
}

func (s *amazon) answer(err error) (answer, bool) {
	var own status
	if errors.As(err, &own) {
		return own.answer, true
	}
	var res *smithyhttp.ResponseError
	if !errors.As(err, &res) || res.HTTPStatusCode() == 0 { // it was not reached
		return answer{}, false
	}
	got := answer{status: res.HTTPStatusCode()}
	var said smithy.APIError
	if errors.As(err, &said) {
		got.code, got.text = said.ErrorCode(), said.ErrorMessage()
	}
	return got, true
}

func (s *amazon) credentials() (used, hint string) {
	return s.keys.from, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE for a profile of ~/.aws; " +
		"they must be allowed to read or write this key"
}
