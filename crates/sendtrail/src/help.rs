//! What help says after the options: examples first of all. Paragraphs are one line each, since clap wraps
//! them; lines of examples are short enough for any terminal.

pub(crate) const CONFIG_FILE: &str = "The configuration file [default: $SENDTRAIL_CONFIG]";

pub(crate) const AWS_REGION: &str = "The AWS region [default: $AWS_REGION, or the profile's]";
pub(crate) const AWS_PROFILE: &str = "The profile of the AWS files [default: $AWS_PROFILE]";

pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  refused, or it failed; with verify: not verified
  2  wrong usage, or a mistake in the configuration
  3  conflict: the record was changed elsewhere, nothing was written
  4  there is no such record

With --json, standard output holds one JSON document, also for a failure: {\"error\":{\"code\",\"message\"}}. \
Wrong usage is told as text on standard error. Colours are used on a terminal only, and not with NO_COLOR.";

pub(crate) const SIGN: &str = "\
The body is signed byte for byte as given: no line end is added or removed. Send the same bytes, with curl's \
--data-binary (-d drops line ends). A signature is good for five minutes. A secret is never an argument: other \
users of the machine could read it.

Examples:
  With a key of the configuration; curl reads the headers from a pipe:
    sendtrail sign --body save.json --function intake |
      curl -H @- -H 'content-type: application/json' \\
        --data-binary @save.json \"$INTAKE_URL/v1/histories\"

  With a secret in a variable and a body from a pipe:
    printf '%s' \"$BODY\" |
      sendtrail sign --body - --secret-env SIDE_EFFECT_K1

  As arguments for a shell:
    H=$(sendtrail sign --body save.json --secret-file k1.txt --curl)
    eval \"curl $H --data-binary @save.json $URL\"

The webhook-id is the idempotency key: repeat a request with the same --id, start another with a new one.";

pub(crate) const VERIFY: &str = "\
Takes a captured request with the keys, or the log line of a refusal with the body that was signed, or both. First \
comes the door's own result. Where the signature is not right, the usual changes and pairs of them are tried: the \
body written again, its escapes, line ends, character set, form fields, base64; the key, the order of the \
arguments, the texts that are joined, the timestamp, the spelling of the signature. No secret and no body is \
printed, only lengths and hashes.

Exit codes: 0 verified as it is, 1 not verified, 2 wrong usage. A request captured earlier is too old by now: give \
the time of its arrival with --at.

Examples:
  A request whose headers and body were saved:
    sendtrail verify --headers headers.txt --body body.json \\
      --function intake --config sendtrail.toml

  A refusal in the function's log, and the body that the signer signed:
    sendtrail verify --refusal line.json --body signed.json

  Signed in Deluge (key first; base64; the text itself is sent):
    payload = body.toString();
    at = (zoho.currenttime.toLong() / 1000).toLong().toString();
    text = id + \".\" + at + \".\" + payload;
    mac = zoho.encryption.hmacsha256(key, text, \"base64\");
    ... headers: {\"webhook-signature\": \"v1,\" + mac, ...}
    sendtrail verify --secret-env KEY --body payload.txt --id \"$ID\" \\
      --timestamp \"$AT\" --signature \"$SIGNATURE\"

  Signed with a stock library (Python's standardwebhooks):
    Webhook(\"whsec_...\").sign(id, datetime.now(timezone.utc), payload)
    sendtrail verify --secret-file key.txt --body payload.json \\
      --headers headers.json --json";

pub(crate) const KEY_NEW: &str = "\
A key is 256 random bits as 43 characters of base64url. A CRM function takes the text, a Standard Webhooks library \
the whsec_ form; both are the same secret. Nothing is stored.

Examples:
  sendtrail key new
  sendtrail key new --name 2026-07 --json
  sendtrail key new --text > intake-k2.txt

To change keys without a gap, add a second [[intake.signing_key]] table, deploy, let the signer use the new key, \
and remove the old table once its metric shows that nobody signs with it.";

pub(crate) const HISTORY: &str = "\
Reads the records of a configured CRM with the refresh token crm.refresh_token.operator. The access token it gets \
is kept for its hour in crm.token_cache, or else in the user's cache folder, readable by the user only.

Examples:
  sendtrail history list --state needs_review
  sendtrail history list --due --limit 20
  sendtrail history show 5725767000000524157
  sendtrail history settle 5725767000000524157 --as failed \\
    --reason 'returned by the post office'
  sendtrail history resume 5725767000000524157 --for 7d \\
    --external-id ltr_4f --reason 'found in the dashboard'

settle and resume work on records in needs_review, record on those and on records in sending, wake on records in \
accepted. They are guarded \
like every write: when somebody changed the record in between, nothing is written and the exit code is 3.";

pub(crate) const SETTLE: &str = "\
Look first what really happened, at the external API and with the recipient. The decision is final: a settled \
record takes no further event. Who and why are kept in the trail.

Examples:
  sendtrail history settle 5725767000000524157 --as succeeded \\
    --reason 'delivered says their support, case 4711'
  sendtrail history settle 5725767000000524157 --as failed \\
    --reason 'never reached them' --by 'Jo Operator'";

pub(crate) const RESUME: &str = "\
For a send that the external API did take. The poller looks it up again until the new deadline. Nothing is sent.

Examples:
  sendtrail history resume 5725767000000524157 \\
    --reason 'their outage is over'
  sendtrail history resume 5725767000000524157 --for 14d \\
    --external-id ltr_4f --reason 'found in the dashboard'";

pub(crate) const RECORD: &str = "\
For the command in a log line outcome_unrecorded: the external API took the document, and the function could not \
write that on the history record. The poller looks it up from then on. Nothing is sent.

Examples:
  sendtrail history record 5725767000000524157 \\
    --external-id ltr_4f --reason 'accepted, not recorded'";

pub(crate) const WAKE: &str = "\
For an accepted send whose result somebody waits for. It makes the record due, so that the poller's next run asks the \
external API; the command asks nothing itself. It never moves a look-up back, never past the deadline, and does not \
count as an attempt. A record that is due, or will be within half a minute, is left as it is. With wake-ups in the \
account, the signed request POST /v1/sends/ID/wake does the same and has the poller run at once.

Examples:
  sendtrail history wake 5725767000000524157 \\
    --reason 'the customer is on the phone'
  sendtrail history wake 5725767000000524157 \\
    --reason 'their outage is over' --json";

pub(crate) const ZOHO: &str = "\
Examples:
  sendtrail zoho check
  sendtrail zoho check --race 50 --json";

pub(crate) const ZOHO_CHECK: &str = "\
Run it before the first send on a CRM, and again after changes of the module, its workflows or its edition. It makes \
a few records of its own, with a request key that starts with check_ and an empty state, works on nothing else, and \
deletes them at the end (scope ZohoCRM.modules.MODULE.DELETE, for this command only; without it the records are named). \
It takes about a minute and 150 calls, as the user of crm.refresh_token.operator.

Each point is a promise's footing: that an old version is refused with 412, that of two writes at once one wins, that \
text comes back byte for byte, that one request key makes one record, that queries find what is there, that the \
document's bytes stay. The exit code is 0 when every promise can hold, and 1 when one cannot: do not run on such a CRM.

Examples:
  sendtrail zoho check
  sendtrail zoho check --race 50 --json
  sendtrail zoho check --keep --config sendtrail.toml";

pub(crate) const CONFIG: &str = "\
Examples:
  sendtrail config check --config sendtrail.toml
  sendtrail config check --secrets

Use --secrets on the machine that has the secrets.";

pub(crate) const SCHEDULE: &str = "\
Works on the schedule sendtrail-STAGE-poller that the template makes, as the user or role that your AWS profile, \
variables or sign-on name. It changes that schedule and nothing else; the template stays the truth: a deploy that \
writes the schedule puts back what differs from its parameters.

Examples:
  sendtrail schedule show --stage prod --region eu-central-1
  sendtrail schedule pause --stage prod --reason 'the CRM is moved'
  sendtrail schedule resume --config sendtrail.toml
  sendtrail schedule every 5m --stage prod --profile ops
  sendtrail schedule run-now --stage dev --json";

pub(crate) const SCHEDULE_PAUSE: &str = "\
Who, why and since when stand in the schedule's description until it is resumed. Sends that are accepted wait; their \
deadlines go on. The alarms for silence fire, which is right: acknowledge them.

Examples:
  sendtrail schedule pause --stage prod --reason 'the CRM is moved'
  sendtrail schedule pause --stage prod --by 'Jo Operator' \\
    --reason 'their API is down until noon'";

pub(crate) const SCHEDULE_RESUME: &str = "\
The description is again what it was. With the configuration and the token crm.refresh_token.operator at hand it says \
how many rows are overdue, so that nobody is surprised by the first runs.

Examples:
  sendtrail schedule resume --config sendtrail.toml
  sendtrail schedule resume --stage prod --region eu-central-1";

pub(crate) const SCHEDULE_EVERY: &str = "\
2, 3, 5 or 10 minutes, as the template allows them. Set its parameter PollIntervalMinutes to the same number and \
deploy: the poller is told its interval by the template alone.

Examples:
  sendtrail schedule every 5m --stage prod";

pub(crate) const SCHEDULE_RUN_NOW: &str = "\
Sends the poller the schedule's own tick and waits for its report. It works also while the schedule is paused. While \
as many runs are going on as PollerConcurrency allows, one by default, this is refused.

Examples:
  sendtrail schedule run-now --stage prod
  sendtrail schedule run-now --stage dev --json";

pub(crate) const SMOKE: &str = "\
Run it after a deploy. It asks the stack what it is, and then looks from outside: both doors answer and refuse what is \
not signed, the widget's origin and no other may call them, the poller can be reached by nobody but its schedule, the \
schedule ticks at the rate the poller was told, nothing is retried, the last run did not fail, every alarm wakes \
somebody. With --config and the operator's credentials it also tries the CRM, as `sendtrail zoho check` does, which \
takes about a minute. It changes nothing in the account and sends nothing.

Each check is one line: ok, failed or skipped, with what to do. The exit code is 1 when any failed.

Examples:
  sendtrail smoke --stack sendtrail-prod --region eu-central-1
  sendtrail smoke --stage prod --config sendtrail.toml
  sendtrail smoke --stack sendtrail-dev --profile dev --json";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_an_example_is_wrapped_on_an_ordinary_terminal() {
        for help in [
            EXIT_CODES,
            SIGN,
            VERIFY,
            KEY_NEW,
            HISTORY,
            SETTLE,
            RESUME,
            WAKE,
            ZOHO,
            ZOHO_CHECK,
            CONFIG,
            SCHEDULE,
            SCHEDULE_PAUSE,
            SCHEDULE_RESUME,
            SCHEDULE_EVERY,
            SCHEDULE_RUN_NOW,
            SMOKE,
        ] {
            for line in help.lines().filter(|line| line.starts_with("  ")) {
                assert!(line.len() <= 79, "{line}");
            }
        }
    }
}
