package keys

import (
	"regexp"

	"markmill/notebooks/lazyregexp"
)

// form is a well-known form of a token.
type form struct {
	prefix string // how it begins
	rest   string // an expression for what follows
	words  string // what stands in its place, before ", not shown"
	source string // a rule of https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml
	whole  *lazyregexp.Regexp
}

// PrivateKey is the name of the form that begins "-----BEGIN … PRIVATE KEY-----": RFC 7468, sections 10 and 11; for
// OpenPGP RFC 9580, section 6.2; for OpenSSH its file PROTOCOL.key.
const PrivateKey = "private key"

// forms are the tokens that are found. Each is of the characters of a word (see word), and of least bytes or more.
var forms = []form{
	{prefix: "AGE-SECRET-KEY-1", rest: `[A-Z0-9]{58}`, words: "age key", source: "age-secret-key"},
	{prefix: "AIza", rest: `[\w-]{35}`, words: "Google API key", source: "gcp-api-key"},
	{prefix: "AKIA", rest: `[A-Z2-7]{16}`, words: "AWS access key", source: "aws-access-token"},
	{prefix: "ASIA", rest: `[A-Z2-7]{16}`, words: "AWS access key", source: "aws-access-token"},
	{prefix: "NRAK-", rest: `[A-Za-z0-9]{27}`, words: "New Relic key", source: "new-relic-user-api-key"},
	{prefix: "PMAK-", rest: `[0-9a-f]{24}-[0-9a-f]{34}`, words: "Postman key", source: "postman-api-token"},
	{prefix: "SG.", rest: `[\w-]{22}\.[\w-]{43}`, words: "SendGrid key", source: "sendgrid-api-token"},
	{prefix: "dapi", rest: `[0-9a-f]{32}(-\d)?`, words: "Databricks token", source: "databricks-api-token"},
	{prefix: "dop_v1_", rest: `[0-9a-f]{64}`, words: "DigitalOcean token", source: "digitalocean-pat"},
	{prefix: "dp.pt.", rest: `[A-Za-z0-9]{43}`, words: "Doppler token", source: "doppler-api-token"},
	{prefix: "gh", rest: `[oprsu]_[A-Za-z0-9_]{36,251}`, words: "GitHub token", source: "github-pat"},
	{prefix: "github_pat_", rest: `\w{82}`, words: "GitHub token", source: "github-fine-grained-pat"},
	{prefix: "glpat-", rest: `[\w-]{20,300}(\.[0-9a-z]{2}[0-9a-z]{7})?`, words: "GitLab token", source: "gitlab-pat"},
	{prefix: "glsa_", rest: `[A-Za-z0-9]{32}_[0-9A-Fa-f]{8}`, words: "Grafana token",
		source: "grafana-service-account-token"},
	{prefix: "hf_", rest: `[A-Za-z]{34}`, words: "Hugging Face token", source: "huggingface-access-token"},
	{prefix: "hvs.", rest: `[\w-]{90,120}`, words: "Vault token", source: "vault-service-token"},
	{prefix: "lin_api_", rest: `[A-Za-z0-9]{40}`, words: "Linear key", source: "linear-api-key"},
	{prefix: "npm_", rest: `[A-Za-z0-9]{36}`, words: "npm token", source: "npm-access-token"},
	{prefix: "ntn_", rest: `\d{11}[A-Za-z0-9]{35}`, words: "Notion token", source: "notion-api-token"},
	{prefix: "pplx-", rest: `[A-Za-z0-9]{48}`, words: "Perplexity key", source: "perplexity-api-key"},
	{prefix: "pul-", rest: `[0-9a-f]{40}`, words: "Pulumi token", source: "pulumi-api-token"},
	{prefix: "pypi-AgEIcHlwaS5vcmc", rest: `[\w-]{50,}`, words: "PyPI token", source: "pypi-upload-token"},
	{prefix: "rk_live_", rest: `[A-Za-z0-9]{16,99}`, words: "Stripe key", source: "stripe-access-token"},
	{prefix: "rubygems_", rest: `[0-9a-f]{48}`, words: "RubyGems token", source: "rubygems-api-token"},
	{prefix: "shpat_", rest: `[0-9A-Fa-f]{32}`, words: "Shopify token", source: "shopify-access-token"},
	{prefix: "sk-", rest: `((proj|svcacct|admin)-)?[\w-]{20,74}T3BlbkFJ[\w-]{20,74}`, words: "OpenAI key",
		source: "openai-api-key"},
	{prefix: "sk-ant-", rest: `(api|admin|oat)\d\d-[\w-]{80,120}`, words: "Anthropic key", source: "anthropic-api-key"},
	{prefix: "sk_live_", rest: `[A-Za-z0-9]{16,99}`, words: "Stripe key", source: "stripe-access-token"},
	{prefix: "xox", rest: `[abeprs](-[A-Za-z0-9]{8,}){2,5}`, words: "Slack token", source: "slack-bot-token"},
}

// first are the forms by their first byte.
var first = func() (list [256][]*form) {
	for i := range forms {
		f := &forms[i]
		f.whole = lazyregexp.New(`^` + regexp.QuoteMeta(f.prefix) + `(?:` + f.rest + `)`)
		list[f.prefix[0]] = append(list[f.prefix[0]], f)
	}
	return list
}()
