"""Step 2: secrets where AWS keeps them, then an unmodified `sam build` and `sam deploy` of the template."""

from emulator import REGION
from processes import expect
from stage import FUNCTIONS, IN_SECRETS_MANAGER, STAGE, Stage

WIDGET = "https://widget.example.com"
# What each function may read: as infra/aws/README.md says.
SECRETS = {
    "intake": ("crm-client-secret", "crm-refresh-intake", "token-key", "seal-key", "intake-k1"),
    "side-effect": (
        "crm-client-secret",
        "crm-refresh-side-effect",
        "seal-key",
        "side-effect-k1",
        "lob-key",
        "cloudsign-client-id",
    ),
    # Who runs the command.
    "operator": ("crm-client-secret", "crm-refresh-operator"),
    "poller": ("crm-client-secret", "crm-refresh-poller", "lob-key", "cloudsign-client-id"),
}


def deploy(stage: Stage) -> str:
    store_secrets(stage)
    topic = stage.emulator.client("sns").create_topic(Name="alarms")["TopicArn"]
    _sam(stage, "sam-build", "build")
    sam_deploy(stage, topic)
    stack = stage.emulator.client("cloudformation").describe_stacks(StackName=f"sendtrail-{STAGE}")["Stacks"][0]
    expect(stack["StackStatus"].endswith("_COMPLETE"), f"the stack is {stack['StackStatus']}")
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    stage.outputs = {"intake": outputs["IntakeUrl"], "side-effect": outputs["SideEffectUrl"], "topic": topic, **outputs}
    deployed = stage.emulator.client("scheduler").get_schedule(GroupName=f"sendtrail-{STAGE}", Name=stage.function("poller"))
    expect(deployed["ScheduleExpression"] == "rate(2 minutes)", f"the schedule is {deployed['ScheduleExpression']}")
    expect(deployed["State"] == "ENABLED", f"the schedule is {deployed['State']}")
    retry = deployed["Target"]["RetryPolicy"]
    expect(retry == {"MaximumRetryAttempts": 0, "MaximumEventAgeInSeconds": 60}, f"the schedule retries: {retry}")
    for function in FUNCTIONS:
        functions = stage.emulator.client("lambda")
        retry = functions.get_function_event_invoke_config(FunctionName=stage.function(function))
        expect(retry["MaximumRetryAttempts"] == 0, f"{function} is retried when it was invoked asynchronously")
    return f"{len(stack['Outputs'])} outputs, schedule rate(2 minutes), no retries"


def sam_deploy(stage: Stage, topic: str, **parameters: str) -> None:
    """Deploys with the stage dev of samconfig.toml. Parameters given here take the place of all that stand there."""
    chosen = {
        "Stage": STAGE,
        "WidgetOrigin": WIDGET,
        "AlarmTopicArn": topic,
        "Architecture": "x86_64",
        "LogLevel": "DEBUG",
        "LogRetentionDays": "14",
        "CrmCreditsFloor": "1000",
        **parameters,
    }
    overrides = [f"{name}={value}" for name, value in chosen.items()]
    name = "-".join(["sam-deploy", *parameters])
    _sam(stage, name, "deploy", "--config-env", "dev", "--region", REGION, "--parameter-overrides", *overrides)


def _sam(stage: Stage, name: str, *arguments: str) -> None:
    """The SAM CLI as it is, in a home of its own, and with no way to anything but this machine."""
    env = {
        **stage.emulator.environment(),
        "HOME": str(stage.run),
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "PATH": stage.path(),
        "SAM_CLI_TELEMETRY": "0",
    }
    stage.processes.run(name, ["sam", *arguments], cwd=stage.template_folder, env=env, timeout=180)


def store_secrets(stage: Stage) -> None:
    """Each function's copy of each of its secrets."""
    values = stage.simulator.secrets()
    # Every simulated vendor knows the one key of the send API.
    values["cloudsign-client-id"] = values["lob-key"]
    ssm, manager = stage.emulator.client("ssm"), stage.emulator.client("secretsmanager")
    for function, names in SECRETS.items():
        for name in names:
            path = f"/sendtrail/{STAGE}/{function}/{name}"
            if name in IN_SECRETS_MANAGER:
                manager.create_secret(Name=path, SecretString=values[name])
            else:
                ssm.put_parameter(Name=path, Value=values[name], Type="SecureString")
