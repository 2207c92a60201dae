"""Rules about alarms and the dashboard: each on a metric that exists, none forgotten."""

import json
import re
from collections.abc import Iterator

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
    *(("Sendtrail", function, "errors") for function in ("intake", "side-effect")),
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
    """The metric an alarm stands on: namespace, name, dimensions. None stands on an expression: an expression fires
    from more than one thing, and the emulator has none."""
    dimensions = {d["Name"]: d["Value"] for d in alarm["Dimensions"]}
    return alarm["Namespace"], alarm["MetricName"], dimensions


@rule
def every_alarm_stands_on_a_metric_there_is(d: Deployment) -> Found:
    known = sources.declared(d.root)
    for name, alarm in d.of_type("AWS::CloudWatch::Alarm").items():
        namespace, metric, dimensions = metric_of(alarm)
        if namespace == "Sendtrail":
            if set(dimensions) != {"function", "stage"} or dimensions["stage"] != d.parameters["Stage"]:
                yield f"{name}: {metric} has the dimensions {dimensions}"
            elif (dimensions["function"], metric) not in known:
                yield f"{name}: {dimensions['function']} declares no {metric}"
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
def the_dashboard_shows_what_there_is(d: Deployment) -> Found:
    known = sources.declared(d.root)
    try:
        for kind, shown in _shown(d):
            if kind == "log":
                yield from _asked_of_log(d, shown)
            elif shown[0] == "Sendtrail":
                _, metric, _, function, _, stage, *_ = shown
                if (function, metric) not in known or stage != d.parameters["Stage"]:
                    yield f"{function} declares no {metric} in {stage}"
            elif (shown[0], shown[1]) not in AWS_METRICS:
                yield f"{shown[:2]} is not known here"
    except (ValueError, KeyError) as error:
        yield f"no dashboard: {error}"


def _shown(d: Deployment) -> Iterator[tuple[str, list[str] | str]]:
    """Every series and every query of the dashboard."""
    for dashboard in d.of_type("AWS::CloudWatch::Dashboard").values():
        for widget in json.loads(dashboard["DashboardBody"])["widgets"]:
            if widget["type"] == "log":
                yield "log", widget["properties"]["query"]
            else:
                yield from (("metric", series) for series in widget["properties"]["metrics"])


def _asked_of_log(d: Deployment, query: str) -> Found:
    group, asked = re.match(r"SOURCE '<(\w+)Logs>'", query), re.findall(r"(?:sum|ispresent)\((\w+)\)", query)
    if not group or group[1] not in sources.FUNCTIONS or not asked:
        yield f"a query of no function's log: {query}"
        return
    function, numbers = sources.FUNCTIONS[group[1]], sources.numbers(d.root)
    yield from (f"{function} logs no {name}" for name in asked if (function, name) not in numbers)


@rule
def every_metric_that_is_paid_for_is_used(d: Deployment) -> Found:
    used = set()
    for alarm in d.of_type("AWS::CloudWatch::Alarm").values():
        _, metric, dimensions = metric_of(alarm)
        used.add((dimensions.get("function"), metric))
    used |= {(shown[3], shown[1]) for kind, shown in _shown(d) if kind == "metric" and shown[0] == "Sendtrail"}
    declared = sources.declared(d.root)
    yield from (
        f"{function} declares {metric}, and no alarm or graph uses it" for function, metric in sorted(declared - used)
    )
    # What a line does not hold CloudWatch never sees, whatever is declared.
    numbers = sources.numbers(d.root)
    yield from (
        f"{function} declares {metric}, and no line holds it" for function, metric in sorted(declared - numbers)
    )


@rule
def the_costs_are_counted(d: Deployment) -> Found:
    """What `infra/aws/README.md` reckons with is what there is."""
    readme = (d.root / "infra/aws/README.md").read_text(encoding="utf-8")
    alarms = d.of_type("AWS::CloudWatch::Alarm").values()
    ours = sum(alarm.get("Namespace") == "Sendtrail" for alarm in alarms)
    polling = sum(function == "poller" for function, _ in sources.declared(d.root))
    for text in (
        f"| {len(alarms)} × 0.10 |",
        f"{len(alarms)} alarms, each on one metric",
        f"{ours} of them stand on what the functions say",
        f"| its metrics | {polling} × 0.30 |",
        f"The doors have {len(sources.declared(d.root)) - polling} metrics more",
    ):
        if text not in readme:
            yield f"infra/aws/README.md does not say: {text}"
