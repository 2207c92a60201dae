//! The AWS account a command works in: which, as whom, and what its refusals mean.

mod failure;
mod names;

use aws_config::{BehaviorVersion, Region};
use aws_credential_types::provider::ProvideCredentials as _;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use clap::Args;
use sendtrail_aws::Account;

use crate::failure::{Failure, Kind};
use crate::help;

pub(crate) use failure::{Call, code, failure};
pub(crate) use names::{Names, stage};

/// Which account, and as whom.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct AwsArgs {
    #[arg(long, value_name = "REGION", help = help::AWS_REGION, global = true)]
    pub(crate) region: Option<String>,
    #[arg(long, value_name = "NAME", help = help::AWS_PROFILE, global = true)]
    pub(crate) profile: Option<String>,
}

/// An account, with credentials that are there.
#[derive(Debug)]
pub(crate) struct Aws {
    pub(crate) account: Account,
    pub(crate) region: String,
}

impl Aws {
    /// Finds region and credentials as every AWS tool does: options, variables, profiles, single sign-on.
    ///
    /// # Errors
    /// [`Kind::Usage`] without a region, [`Kind::Failed`] without credentials; both say what to do.
    pub(crate) async fn find(args: &AwsArgs) -> Result<Self, Failure> {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
        if let Some(region) = &args.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if let Some(profile) = &args.profile {
            loader = loader.profile_name(profile);
        }
        let config = loader.load().await;
        let region = config.region().map(ToString::to_string).ok_or_else(|| {
            let what = "no AWS region is known: name it with --region, AWS_REGION or the profile";
            Failure::new(Kind::Usage, what)
        })?;
        let credentials = match config.credentials_provider() {
            Some(provider) => provider.provide_credentials().await.is_ok(),
            None => false,
        };
        if !credentials {
            return Err(Failure::new(Kind::Failed, no_credentials(args)));
        }
        let account = Account::of_config(config);
        Ok(Self { account, region })
    }
}

fn no_credentials(args: &AwsArgs) -> String {
    let whose = args
        .profile
        .as_deref()
        .map_or(String::new(), |profile| format!(" in profile {profile}"));
    format!(
        "no AWS credentials are found{whose}: name a profile with --profile or AWS_PROFILE, or sign in again \
         (aws sso login)"
    )
}
