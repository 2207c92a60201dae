"""Rules about alarms and the dashboard: each on a metric that exists, none forgotten."""

import json

import sources
from rules import Deployment, Found, rule

# AWS's own metrics that alarms may stand on, with the dimension each is published under.
AWS_METRICS = {
    ("AWS/Lambda", "Errors"): "FunctionName",
    ("AWS/Lambda", "Duration"): "FunctionName",
    ("AWS/Lambda", "Throttles"): "FunctionName",
    ("AWS/Lambda", "Invocations"): "FunctionName",
    ("AWS/Scheduler", "InvocationAttemptCount"): "ScheduleGroup",
    ("AWS/Scheduler", "TargetErrorCount"): "ScheduleGroup",
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): "QueueName",
}

# (namespace, of which, metric): what somebody is woken for.
REQUIRED = {
    *(("Sendtrail", "side-effect", m) for m in ("outcome_unrecorded", "outcome_beside_person", "outcome_late")),
    *(("Sendtrail", "side-effect", m) for m in ("acceptance_unknown", "api_unauthorized", "unauthorized")),
    *(("Sendtrail", "poller", m) for m in ("acceptance_unknown", "unauthorized", "malformed", "foreign_states")),
    *(("Sendtrail", "poller", m) for m in ("oldest_due_seconds", "crm_credits_remaining", "conflicts_skipped")),
    ("Sendtrail", "intake", "unauthorized"),
    *(("Sendtrail", f, m) for f in sources.FUNCTIONS.values() for m in ("crm_token_throttled", "crm_token_refused")),
    *(("AWS/Lambda", f"<{f}>", m) for f in sources.FUNCTIONS for m in ("Errors", "Duration", "Throttles")),
    ("AWS/Lambda", "<Poller>", "Invocations"),
    ("AWS/Scheduler", "<ScheduleGroup>", "InvocationAttemptCount"),
    ("AWS/SQS", "<ScheduleDeadLetters.QueueName>", "ApproximateNumberOfMessagesVisible"),
    ("AWS/SQS", "<PollerFailures.QueueName>", "ApproximateNumberOfMessagesVisible"),
}

# What must be heard when it falls silent.
SILENCE = {"Invocations", "InvocationAttemptCount"}


def metric_of(alarm: dict) -> tuple[str, str, dict[str, str]]:
    """The metric an alarm stands on: namespace, name, dimensions. None stands on an expression: an expression fires from
    more than one thing, and the emulator has none."""
    dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
    return alarm["Namespace"], alarm["MetricName"], dimensions


@rule
def every_alarm_stands_on_a_metric_there_is(d: Deployment) -> Found:
    known = sources.emitted(d.root) | sources.Needed(d.root).metrics
    for name, alarm in d.of_type("AWS::CloudWatch::Alarm").items():
        namespace, metric, dimensions = metric_of(alarm)
        if namespace == "Sendtrail":
            if set(dimensions) != {"function", "stage"} or dimensions["stage"] != d.parameters["Stage"]:
                yield f"{name}: {metric} has the dimensions {dimensions}"
            elif (dimensions["function"], metric) not in known:
                yield f"{name}: {dimensions['function']} emits no {metric}"
        elif list(dimensions) != [AWS_METRICS.get((namespace, metric))]:
            yield f"{name}: {namespace} {metric} with {dimensions} is not known here"


@rule
def nothing_that_must_wake_somebody_is_forgotten(d: Deployment) -> Found:
    covered = set()
    for alarm in d.of_type("AWS::CloudWatch::Alarm").values():
        namespace, metric, dimensions = metric_of(alarm)
        of = dimensions.get("function") or next(iter(dimensions.values()))
        covered.add((namespace, of, metric))
    yield from (f"no alarm on {metric} of {of}" for _, of, metric in sorted(REQUIRED - covered))


@rule
def silence_is_an_alarm(d: Deployment) -> Found:
    longest = max(d.sam["Parameters"]["PollIntervalMinutes"]["AllowedValues"])
    for name, alarm in d.of_type("AWS::CloudWatch::Alarm").items():
        if alarm.get("MetricName") in SILENCE:
            below = alarm["ComparisonOperator"] == "LessThanThreshold" and alarm["Threshold"] == 1
            if not below or alarm.get("TreatMissingData") != "breaching":
                yield f"{name} does not hear silence"
            if alarm["Period"] * alarm["EvaluationPeriods"] < 60 * longest + 300:
                yield f"{name} would cry between two ticks of {longest} minutes"
        elif alarm.get("TreatMissingData") == "breaching":
            yield f"{name} cries where nothing happens"


@rule
def a_time_out_alarm_knows_the_time_out(d: Deployment) -> Found:
    for name, alarm in d.of_type("AWS::CloudWatch::Alarm").items():
        if alarm.get("MetricName") == "Duration":
            function = alarm["Dimensions"][0]["Value"].strip("<>")
            timeout = 1000 * d.functions()[function]["Timeout"]
            above = alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
            if alarm["Threshold"] != timeout or alarm["Statistic"] != "Maximum" or not above:
                yield f"{name} fires at {alarm['Threshold']} ms, and {function} ends after {timeout}"


@rule
def every_alarm_goes_to_the_topic(d: Deployment) -> Found:
    for name, alarm in d.of_type("AWS::CloudWatch::Alarm").items():
        if alarm.get("AlarmActions") != [d.parameters["AlarmTopicArn"]] or alarm.get("ActionsEnabled") is False:
            yield f"{name} does not go to the topic"


@rule
def the_dashboard_shows_metrics_there_are(d: Deployment) -> Found:
    known = sources.emitted(d.root) | sources.Needed(d.root).metrics
    for name, dashboard in d.of_type("AWS::CloudWatch::Dashboard").items():
        try:
            widgets = json.loads(dashboard["DashboardBody"])["widgets"]
        except (ValueError, KeyError) as error:
            yield f"{name} is no dashboard: {error}"
            continue
        for series in (s for widget in widgets for s in widget["properties"]["metrics"]):
            if series[0] == "Sendtrail":
                _, metric, _, function, _, stage, *_ = series
                if (function, metric) not in known or stage != d.parameters["Stage"]:
                    yield f"{name}: {function} emits no {metric} in {stage}"
            elif (series[0], series[1]) not in AWS_METRICS:
                yield f"{name}: {series[:2]} is not known here"


@rule
def what_is_needed_is_still_needed(d: Deployment) -> Found:
    for what in sources.Needed(d.root).stale(d.root):
        yield f"the code does {what} by now: strike it from infra/aws/METRICS-NEEDED"
