//! The stack: its state, parameters and outputs, and its alarms as they were deployed.

use std::collections::BTreeMap;

use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::types::TemplateStage;
use serde_json::Value;

use super::check::Check;
use crate::aws::{Aws, Call, Names, code, failure};
use crate::failure::{Failure, Kind};

/// What is known of a stack.
#[derive(Debug, Default)]
pub(super) struct Stack {
    pub(super) name: String,
    pub(super) status: String,
    pub(super) parameters: BTreeMap<String, String>,
    pub(super) outputs: BTreeMap<String, String>,
}

impl Stack {
    pub(super) async fn read(aws: &Aws, name: &str) -> Result<Self, Failure> {
        let client = Client::new(aws.account.config());
        let read = client.describe_stacks().stack_name(name).send().await;
        let read = read.map_err(|error| {
            // CloudFormation has no code of its own for a stack that is not there.
            if code(&error) == Some("ValidationError") {
                let region = &aws.region;
                let what = format!(
                    "there is no stack {name} in {region}: check --stack, --region and --profile"
                );
                return Failure::new(Kind::NotFound, what);
            }
            let resource = format!("stack {name}");
            let call = Call {
                action: "cloudformation:DescribeStacks",
                resource: &resource,
            };
            failure(&error, call, aws)
        })?;
        let stack = read.stacks.unwrap_or_default().into_iter().next();
        let stack = stack
            .ok_or_else(|| Failure::new(Kind::NotFound, format!("there is no stack {name}")))?;
        let parameters = stack.parameters.unwrap_or_default().into_iter();
        let outputs = stack.outputs.unwrap_or_default().into_iter();
        Ok(Self {
            name: name.to_owned(),
            status: stack
                .stack_status
                .map_or_else(String::new, |status| status.to_string()),
            parameters: parameters
                .filter_map(|p| Some((p.parameter_key?, p.parameter_value?)))
                .collect(),
            outputs: outputs
                .filter_map(|o| Some((o.output_key?, o.output_value?)))
                .collect(),
        })
    }

    pub(super) fn parameter(&self, name: &str) -> &str {
        self.parameters.get(name).map_or("", String::as_str)
    }

    pub(super) fn output(&self, name: &str) -> Option<&str> {
        self.outputs.get(name).map(String::as_str)
    }

    /// The names of its stage.
    pub(super) fn names(&self) -> Result<Names, Failure> {
        let stage = self.parameter("Stage").to_owned();
        if stage.is_empty() {
            let what = format!(
                "stack {} has no parameter Stage: it is not Sendtrail's",
                self.name
            );
            return Err(Failure::new(Kind::Refused, what));
        }
        Ok(Names { stage })
    }

    pub(super) fn check(&self) -> Check {
        let status = self.status.as_str();
        let is_done = status.ends_with("_COMPLETE") && !status.contains("ROLLBACK");
        if is_done {
            return Check::ok("stack", status);
        }
        let advice = "the last deploy is not what runs, or is still under way: read its events";
        Check::failed("stack", status, advice)
    }
}

/// Whether every alarm wakes somebody, as the template was deployed.
pub(super) async fn alarms(aws: &Aws, stack: &Stack) -> Check {
    const NAME: &str = "alarms";
    let client = Client::new(aws.account.config());
    let call = client.get_template().stack_name(&stack.name);
    let read = call.template_stage(TemplateStage::Processed).send().await;
    let template = match read {
        Ok(read) => read.template_body.unwrap_or_default(),
        Err(error) => {
            let resource = format!("stack {}", stack.name);
            let call = Call {
                action: "cloudformation:GetTemplate",
                resource: &resource,
            };
            let why = failure(&error, call, aws).message;
            return Check::failed(NAME, "the template could not be read", why);
        }
    };
    let Ok(template) = serde_json::from_str::<Value>(&template) else {
        let advice = "look at the alarms' actions in the console";
        return Check::skipped(NAME, "the deployed template is no JSON", advice);
    };
    let silent = silent_alarms(&template);
    let topic = stack.parameter("AlarmTopicArn");
    match silent {
        None => Check::failed(NAME, "there is none", "deploy the template again"),
        Some(_) if topic.is_empty() => Check::failed(
            NAME,
            "they have no topic",
            "set AlarmTopicArn to the topic that wakes somebody, and deploy",
        ),
        Some((all, silent)) if silent.is_empty() => {
            Check::ok(NAME, format!("{all} alarms, each to {topic}"))
        }
        Some((_, silent)) => {
            let found = format!("{} wake nobody", silent.join(", "));
            Check::failed(NAME, found, "give them AlarmActions, and deploy")
        }
    }
}

/// How many alarms there are, and those without an action; `None` where there is no alarm.
fn silent_alarms(template: &Value) -> Option<(usize, Vec<&str>)> {
    let resources = template.get("Resources")?.as_object()?;
    let is_alarm = |resource: &Value| resource["Type"] == "AWS::CloudWatch::Alarm";
    let alarms: Vec<_> = resources.iter().filter(|(_, r)| is_alarm(r)).collect();
    let wakes = |alarm: &Value| {
        let properties = &alarm["Properties"];
        let actions = properties["AlarmActions"].as_array();
        properties["ActionsEnabled"] != Value::Bool(false)
            && actions.is_some_and(|actions| !actions.is_empty())
    };
    let silent = alarms.iter().filter(|(_, alarm)| !wakes(alarm));
    let silent: Vec<_> = silent.map(|(name, _)| name.as_str()).collect();
    (!alarms.is_empty()).then_some((alarms.len(), silent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_alarm_that_wakes_nobody_is_named() {
        let alarm =
            |properties: Value| json!({"Type": "AWS::CloudWatch::Alarm", "Properties": properties});
        let template = json!({"Resources": {
            "Loud": alarm(json!({"AlarmActions": [{"Ref": "AlarmTopicArn"}]})),
            "Off": alarm(json!({"AlarmActions": [{"Ref": "AlarmTopicArn"}], "ActionsEnabled": false})),
            "Mute": alarm(json!({"AlarmActions": []})),
            "None": alarm(json!({})),
            "Queue": {"Type": "AWS::SQS::Queue"},
        }});
        assert_eq!(
            silent_alarms(&template),
            Some((4, vec!["Off", "Mute", "None"]))
        );
        assert_eq!(silent_alarms(&json!({"Resources": {}})), None);
    }

    #[test]
    fn only_a_deploy_that_is_done_and_was_not_rolled_back_is_ok() {
        for (status, ok) in [
            ("CREATE_COMPLETE", true),
            ("UPDATE_COMPLETE", true),
            ("UPDATE_IN_PROGRESS", false),
            ("UPDATE_ROLLBACK_COMPLETE", false),
            ("ROLLBACK_COMPLETE", false),
            ("CREATE_FAILED", false),
            ("", false),
        ] {
            let stack = Stack {
                status: status.to_owned(),
                ..Stack::default()
            };
            let verdict = stack.check().verdict;
            assert_eq!(verdict == super::super::check::Verdict::Ok, ok, "{status}");
        }
    }
}
