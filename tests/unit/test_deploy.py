"""What is in `deploy/kubernetes`: the chart renders what the manifests say, and its configuration can be read."""

import json
import re
from pathlib import Path
from typing import Any

import yaml

from muster.formats.rules.engines.kubernetes import KubernetesNamespace
from muster.formats.rules.server_file import read_server_file

FOLDER = Path(__file__).parents[2] / "deploy" / "kubernetes"
CHART = FOLDER / "chart"
NAMESPACE = "muster-system"

Values = dict[str, Any]

WORDS = re.compile(r"{{ (?:(toJson) )?(?:\(tpl )?\.(Release\.Namespace|Values\.[A-Za-z.]+)(?: \.\))? }}")
"""The only forms of Helm's language that the chart uses."""


def rendered(template: str, values: Values) -> str:
    """A template as Helm renders it in the namespace of the manifests."""

    def found(match: re.Match[str]) -> str:
        value: Any = {"Release": {"Namespace": NAMESPACE}, "Values": values}
        for step in match[2].split("."):
            value = value[step]
        value = rendered(value, values) if isinstance(value, str) else value
        return json.dumps(value) if match[1] else str(value)

    text = WORDS.sub(found, template)
    assert "{{" not in text, "a form that this test cannot render"
    return text


def objects(text: str) -> dict[tuple[str, str], Any]:
    """The objects of a file, by kind and name."""
    found = [each for each in yaml.safe_load_all(text) if each]
    assert found
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def values() -> Values:
    return dict(yaml.safe_load((CHART / "values.yaml").read_text("utf-8")))


def test_the_chart_renders_what_the_manifests_say() -> None:
    templates = sorted(path.name for path in (CHART / "templates").iterdir())
    assert templates == sorted(path.name for path in FOLDER.glob("*.yaml"))
    for name in templates:
        made = rendered((CHART / "templates" / name).read_text("utf-8"), values())
        assert objects(made) == objects((FOLDER / name).read_text("utf-8"))


def test_every_value_of_the_chart_is_used() -> None:
    text = "".join(path.read_text("utf-8") for path in (CHART / "templates").iterdir()) + values()["configuration"]
    for name in values():
        assert f".Values.{name}" in text
    other = rendered(
        (CHART / "templates" / "rbac.yaml").read_text("utf-8"), values() | {"jobs": {"namespace": "train"}}
    )
    assert ("Role", "muster-gangs") in objects(other)
    assert objects(other)["Role", "muster-gangs"]["metadata"]["namespace"] == "train"


def test_the_control_plane_is_restricted_and_probed() -> None:
    found = objects((FOLDER / "control-plane.yaml").read_text("utf-8"))
    pod = found["Deployment", "muster"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False
    assert {"startupProbe", "readinessProbe", "livenessProbe"} <= set(container)
    (database,) = (each for each in container["env"] if each["name"] == "MUSTER_DATABASE")
    assert "value" not in database  # a password belongs into a secret
    assert found["PodDisruptionBudget", "muster"]["spec"]["maxUnavailable"] == 1


def test_the_configuration_of_the_control_plane_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "muster.toml"
    found = objects((FOLDER / "control-plane.yaml").read_text("utf-8"))
    file.write_text(found["ConfigMap", "muster"]["data"]["muster.toml"], "utf-8")
    (engine,) = read_server_file(file).engines
    assert isinstance(engine, KubernetesNamespace)
    assert engine.kubeconfig is None
    rights = objects((FOLDER / "rbac.yaml").read_text("utf-8"))
    assert rights["Role", "muster-gangs"]["metadata"]["namespace"] == engine.namespace
