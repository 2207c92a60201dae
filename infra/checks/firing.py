"""Each alarm fires from the trouble it is for, and from no other: played, not read.

A case of `troubles.yaml` is a metrics line of a real function (`lines/`), or one of AWS's own metrics. It is laid over
hours in which all is well; every alarm of the template is evaluated over them, and those in ALARM must be the ones the
case names. Each case is played at each interval of the schedule that the template allows.
"""

import json
from functools import lru_cache
from pathlib import Path

import cloudwatch
import sources
import yaml
from rules import Deployment, Found, rule

MINUTE, HOUR = 60, 3600
# All is well from 0 to END; what goes wrong begins at TROUBLE, off any border of a period.
END, TROUBLE = 4 * HOUR, HOUR + 7 * MINUTE
TROUBLES = Path(__file__).parent / "troubles.yaml"


@rule
def every_alarm_fires_from_its_trouble_and_from_no_other(d: Deployment) -> Found:
    alarms = {name: _alarm(p) for name, p in d.of_type("AWS::CloudWatch::Alarm").items()}
    intervals = tuple(d.sam["Parameters"]["PollIntervalMinutes"]["AllowedValues"])
    yield from _played(json.dumps(alarms, sort_keys=True), d.parameters["Stage"], intervals, d.root)


def _alarm(properties: dict) -> dict:
    """What an alarm is evaluated by; the rest of it has rules of its own."""
    unimportant = {"AlarmName", "AlarmDescription", "AlarmActions", "ActionsEnabled"}
    return {key: value for key, value in properties.items() if key not in unimportant}


@lru_cache
def _played(alarms: str, stage: str, intervals: tuple[int, ...], root: Path) -> list[str]:
    """Kept, for most ways to break the template leave its alarms alone."""
    play = Play({name: cloudwatch.Alarm.of(p) for name, p in json.loads(alarms).items()}, stage, root)
    cases = yaml.safe_load(TROUBLES.read_text(encoding="utf-8"))
    said, alone = [], set()
    for interval in intervals:
        for case in cases:
            fires = play.alarms_of(case, interval)
            if fires != set(case["fires"]):
                said.append(f"{_name(case)}, every {interval} minutes: {sorted(fires)}, not {case['fires']}")
            if len(fires) == 1:
                alone |= fires
    said += [f"{name} fires in no case by itself" for name in sorted(set(play.alarms) - alone)]
    said += [f"no case with {name}" for name in sorted(_untried(cases, root))]
    return said


def _untried(cases: list[dict], root: Path) -> set[str]:
    there = {f"{f}: {what}" for f, of in sources.lines(root).items() for what in of}
    quiet = {name for name in there if name.partition(": ")[2].startswith("quiet")}
    return there - quiet - {name for case in cases for name in case.get("lines", [])}


def _name(case: dict) -> str:
    return ", ".join(case.get("lines", []) + case.get("aws", []) + [f"no {m}" for m in case.get("missing", [])])


class Play:
    """Alarms over hours in which all is well but for one thing."""

    def __init__(self, alarms: dict[str, cloudwatch.Alarm], stage: str, root: Path):
        self.alarms = alarms
        self.lines = {
            f"{function}: {what}": {**line, "stage": stage}
            for function, of in sources.lines(root).items()
            for what, line in of.items()
        }
        self._well = lru_cache(self._well)
        self._fires_where_all_is_well = lru_cache(maxsize=None)(self._fires_where_all_is_well)

    def alarms_of(self, case: dict, interval: int) -> set[str]:
        well, points = self._well(interval), cloudwatch.empty()
        for name in case.get("lines", []):
            line = self.lines[name]
            for at in _times(case, line["function"] == "poller", interval):
                cloudwatch.of_line(line, at, points)
        for what in case.get("aws", []):
            series, value = _aws(what)
            points[series] += [(at, value) for at in _times(case, "<Poller>" in what or "Scheduler" in what, interval)]
        missing = {_aws(f"{what} 0")[0] for what in case.get("missing", [])}

        fires = set()
        for name, alarm in self.alarms.items():
            series = alarm.series
            if series in points or series in missing:
                until = TROUBLE if series in missing else END
                seen = [point for point in well.get(series, []) if point[0] < until] + points.get(series, [])
                if alarm.fires(seen, END):
                    fires.add(name)
            elif self._fires_where_all_is_well(name, interval):
                fires.add(name)
        return fires

    def _fires_where_all_is_well(self, name: str, interval: int) -> bool:
        alarm = self.alarms[name]
        return alarm.fires(self._well(interval).get(alarm.series, []), END)

    def _well(self, interval: int) -> cloudwatch.Points:
        """Four hours of good work: the poller at every tick, requests to each door every five minutes."""
        points = cloudwatch.empty()
        for at in range(90, END, interval * MINUTE):
            cloudwatch.of_line(self.lines["poller: quiet"], at, points)
            _invoked(points, "Poller", at)
            points[_aws("AWS/Scheduler InvocationAttemptCount ScheduleGroup=<ScheduleGroup> 1")[0]].append((at, 1))
        for at in range(30, END, 5 * MINUTE):
            for logical in ("Intake", "SideEffect"):
                _invoked(points, logical, at)
                for name, line in self.lines.items():
                    if name.startswith(f"{sources.FUNCTIONS[logical]}: quiet"):
                        cloudwatch.of_line(line, at, points)
            for queue in ("ScheduleDeadLetters", "PollerFailures"):
                series, value = _aws(f"AWS/SQS ApproximateNumberOfMessagesVisible QueueName=<{queue}.QueueName> 0")
                points[series].append((at, value))
        return points


def _times(case: dict, by_tick: bool, interval: int) -> list[int]:
    """`times` in one minute, or `hours` long: at every tick, or ten times an hour at a door."""
    if hours := case.get("hours"):
        step = interval * MINUTE if by_tick else 6 * MINUTE
        return list(range(TROUBLE, TROUBLE + int(hours * HOUR), step))
    return [TROUBLE + n for n in range(case.get("times", 1))]


def _invoked(points: cloudwatch.Points, logical: str, at: int) -> None:
    """What Lambda counts of one invocation that went well."""
    for metric, value in (("Invocations", 1), ("Errors", 0), ("Throttles", 0), ("Duration", 2000)):
        points[_aws(f"AWS/Lambda {metric} FunctionName=<{logical}> 0")[0]].append((at, value))


def _aws(text: str) -> tuple[cloudwatch.Series, float]:
    """`NAMESPACE METRIC DIMENSION=VALUE NUMBER`."""
    namespace, metric, dimension, value = text.split()
    name, _, of = dimension.partition("=")
    return cloudwatch.series(namespace, metric, {name: of}), float(value)
