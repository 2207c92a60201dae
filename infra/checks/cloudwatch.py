"""CloudWatch as far as our alarms need it: datapoints out of metrics lines, and what an alarm makes of them."""

import operator
from collections import defaultdict
from dataclasses import dataclass

# Namespace, metric, dimensions in order: what CloudWatch takes for one and the same series.
Series = tuple[str, str, tuple[tuple[str, str], ...]]
Points = dict[Series, list[tuple[int, float]]]

STATISTICS = {"Sum": sum, "Maximum": max, "Minimum": min, "Average": lambda values: sum(values) / len(values)}
COMPARISONS = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
    "LessThanOrEqualToThreshold": operator.le,
}


def series(namespace: str, metric: str, dimensions: dict[str, str]) -> Series:
    return namespace, metric, tuple(sorted(dimensions.items()))


def of_line(line: dict, at: int, points: Points) -> None:
    """Adds what CloudWatch reads out of a line in embedded metric format, and nothing that is only in its text."""
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: line[name] for name in names}
            for metric in directive["Metrics"]:
                key = series(directive["Namespace"], metric["Name"], dimensions)
                # A declared metric without a value is an error of the line that CloudWatch passes over.
                if metric["Name"] in line:
                    points[key].append((at, line[metric["Name"]]))


def empty() -> Points:
    return defaultdict(list)


@dataclass(frozen=True)
class Alarm:
    """An alarm of the resolved template."""

    series: Series
    statistic: str
    period: int
    evaluated: int
    to_alarm: int
    comparison: str
    threshold: float
    missing: str

    @classmethod
    def of(cls, properties: dict) -> "Alarm":
        dimensions = {d["Name"]: d["Value"] for d in properties["Dimensions"]}
        return cls(
            series=series(properties["Namespace"], properties["MetricName"], dimensions),
            statistic=properties["Statistic"],
            period=int(properties["Period"]),
            evaluated=int(properties["EvaluationPeriods"]),
            to_alarm=int(properties.get("DatapointsToAlarm", properties["EvaluationPeriods"])),
            comparison=properties["ComparisonOperator"],
            threshold=float(properties["Threshold"]),
            missing=properties["TreatMissingData"],
        )

    def fires(self, points: list[tuple[int, float]], end: int) -> bool:
        """Whether it ever is in ALARM before this second. Periods lie on the clock, as CloudWatch lays them. Where data
        is missing CloudWatch may also look further back; what is played here has none missing where it matters."""
        values = defaultdict(list)
        for at, value in points:
            values[at // self.period].append(value)
        breaching = [self._breaches(values.get(n)) for n in range(end // self.period)]
        if self.evaluated == 1:
            return any(breaching)
        windows = range(len(breaching) - self.evaluated + 1)
        return any(sum(breaching[n : n + self.evaluated]) >= self.to_alarm for n in windows)

    def _breaches(self, values: list[float] | None) -> bool:
        if not values:
            return self.missing == "breaching"
        return COMPARISONS[self.comparison](STATISTICS[self.statistic](values), self.threshold)
