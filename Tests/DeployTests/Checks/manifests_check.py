"""Validates deploy/kubernetes and deploy/compose.yaml with schemas, and checks the relations between the pods.

`kubectl kustomize` builds the resources if kubectl is installed. Otherwise the check reads every file separately.
Schemas of kubernetes-validate validate the kinds of Kubernetes. The hand-written schemas below validate the kinds of
KEDA and the Prometheus operator; they follow the reference pages. An unknown or missing field is an error in both.
"""

import copy
import http.server
import json
import os
import re
import threading

import jsonschema
import kubernetes_validate
import yaml

from checking import DEPLOY, Report, has, run

KUBERNETES = ["1.30", "1.37"]
FOLDER = DEPLOY / "kubernetes"


def an_object(required, **properties):
    optional = properties.pop("optional", {})
    return {
        "type": "object",
        "required": required,
        "properties": {**properties, **optional},
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 0}
ANY_OBJECT = {"type": "object"}
DURATION = {"type": "string", "pattern": r"^([0-9]+(ms|[smhdwy]))+$"}
LABELS = {"type": "object", "additionalProperties": TEXT}
ENDPOINTS = {
    "type": "array",
    "minItems": 1,
    "items": an_object(["port"], port=TEXT, optional={"path": TEXT, "interval": DURATION, "scrapeTimeout": DURATION}),
}


def resource(spec):
    return an_object(["apiVersion", "kind", "metadata", "spec"], apiVersion=TEXT, kind=TEXT, metadata=ANY_OBJECT, spec=spec)


SCHEMAS = {
    "keda.sh/v1alpha1/ScaledObject": resource(
        an_object(
            ["scaleTargetRef", "triggers"],
            scaleTargetRef=an_object(["name"], name=TEXT, optional={"kind": TEXT, "apiVersion": TEXT}),
            triggers={
                "type": "array",
                "minItems": 1,
                "items": an_object(
                    ["type", "metadata"],
                    type={"const": "metrics-api"},
                    metadata=an_object(
                        ["targetValue", "url", "valueLocation"],
                        targetValue={"type": "string", "pattern": "^[0-9.]+$"},
                        url={"type": "string", "pattern": "^https?://"},
                        valueLocation=TEXT,
                        optional={"authMode": {"enum": ["apiKey", "basic", "tls", "bearer"]}, "format": TEXT},
                    ),
                    optional={
                        "metricType": {"enum": ["AverageValue", "Value"]},
                        "authenticationRef": an_object(["name"], name=TEXT),
                    },
                ),
            },
            optional={
                "minReplicaCount": NUMBER,
                "maxReplicaCount": NUMBER,
                "pollingInterval": NUMBER,
                "cooldownPeriod": NUMBER,
                "fallback": an_object(
                    ["failureThreshold", "replicas"],
                    failureThreshold=NUMBER,
                    replicas=NUMBER,
                    optional={
                        "behavior": {
                            "enum": ["static", "currentReplicas", "currentReplicasIfHigher", "currentReplicasIfLower"]
                        }
                    },
                ),
                "advanced": an_object(
                    [], optional={"horizontalPodAutoscalerConfig": ANY_OBJECT, "restoreToOriginalReplicaCount": {"type": "boolean"}}
                ),
            },
        )
    ),
    "keda.sh/v1alpha1/TriggerAuthentication": resource(
        an_object(
            ["secretTargetRef"],
            secretTargetRef={
                "type": "array",
                "items": an_object(["parameter", "name", "key"], parameter=TEXT, name=TEXT, key=TEXT),
            },
        )
    ),
    "monitoring.coreos.com/v1/PodMonitor": resource(
        an_object(["selector", "podMetricsEndpoints"], selector=an_object(["matchLabels"], matchLabels=LABELS), podMetricsEndpoints=ENDPOINTS)
    ),
    "monitoring.coreos.com/v1/ServiceMonitor": resource(
        an_object(["selector", "endpoints"], selector=an_object(["matchLabels"], matchLabels=LABELS), endpoints=ENDPOINTS)
    ),
    "monitoring.coreos.com/v1/PrometheusRule": resource(
        an_object(["groups"], groups={"type": "array", "minItems": 1, "items": ANY_OBJECT})
    ),
}


def schema_problem(thing, version):
    """Returns the problem that the schema finds in a resource; None if it is valid."""
    own = SCHEMAS.get(f"{thing.get('apiVersion')}/{thing.get('kind')}")
    try:
        if own:
            jsonschema.Draft202012Validator(own).validate(thing)
        else:
            kubernetes_validate.validate(thing, version, strict=True)
    except jsonschema.ValidationError as error:
        return f"{'.'.join(map(str, error.absolute_path))}: {error.message}"
    except kubernetes_validate.SchemaNotFoundError as error:
        return error.message
    return None


def referenced_files(report, folder):
    """Checks that every file of a kustomization exists, and that a kustomization names every file."""
    text = yaml.safe_load((folder / "kustomization.yaml").read_text())
    named = set(text.get("resources", [])) | set(text.get("components", []))
    for generator in text.get("configMapGenerator", []):
        named |= set(generator.get("files", []))
    for name in named:
        report.expect((folder / name).exists(), f"{folder.name}/kustomization.yaml names {name}, which is not there")
    for file in folder.glob("*.yaml"):
        known = file.name in named | {"kustomization.yaml"}
        report.expect(known, f"{file} is named by no kustomization")


def pods(things):
    return [thing for thing in things if thing["kind"] == "Deployment"]


def labels_match(selector, labels):
    return all(labels.get(key) == value for key, value in selector.items())


def seconds(text):
    number, unit = re.fullmatch(r"([0-9]+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def relations(report, things, name):
    """Checks relations outside the schemas: selectors, and the needs of a stop, a key and a locked-down container."""
    deployments = pods(things)
    report.expect(len(deployments) == 2, f"{name}: {len(deployments)} Deployments, not worker and admin")
    templates = {one["metadata"]["name"]: one["spec"]["template"] for one in deployments}
    config = next(thing for thing in things if thing["kind"] == "ConfigMap")
    settings = yaml.safe_load(config["data"]["carillon.yaml"])
    deadline = seconds(settings.get("worker", {}).get("deadline", "20s"))
    for one in deployments:
        title = f"{name}: {one['metadata']['name']}"
        template = one["spec"]["template"]
        pod = template["spec"]
        report.expect(
            labels_match(one["spec"]["selector"]["matchLabels"], template["metadata"]["labels"]), f"{title}: selects other pods"
        )
        report.expect(pod["terminationGracePeriodSeconds"] > deadline, f"{title}: is killed before worker.deadline")
        report.expect(pod["enableServiceLinks"] is False, f"{title}: gets variables of services")
        report.expect(pod["automountServiceAccountToken"] is False, f"{title}: gets a token of the cluster")
        context = pod["securityContext"]
        report.expect(context["runAsNonRoot"] and context["runAsUser"] > 0, f"{title}: may run as root")
        report.expect(context["seccompProfile"]["type"] == "RuntimeDefault", f"{title}: has no seccomp profile")
        for volume in pod["volumes"]:
            if "secret" in volume:
                mode = volume["secret"]["defaultMode"]
                report.expect(mode == 0o440 and "fsGroup" in context, f"{title}: {volume['name']}: mode {mode:o} is refused")
            if "configMap" in volume:
                report.expect(
                    volume["configMap"]["name"] == config["metadata"]["name"], f"{title}: mounts another configuration"
                )
        mounted = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            secure = container["securityContext"]
            report.expect(secure["readOnlyRootFilesystem"] is True, f"{title}: may write to its file system")
            report.expect(secure["allowPrivilegeEscalation"] is False, f"{title}: may gain rights")
            report.expect(secure["capabilities"]["drop"] == ["ALL"], f"{title}: keeps capabilities")
            report.expect("memory" in container["resources"]["limits"], f"{title}: has no limit on memory")
            ports = {port["name"] for port in container["ports"]}
            for probe, path in [("livenessProbe", "/livez"), ("startupProbe", "/livez"), ("readinessProbe", "/readyz")]:
                asked = container[probe]["httpGet"]
                report.expect(asked["path"] == path and asked["port"] in ports, f"{title}: {probe} asks {asked}")
            for mount in container["volumeMounts"]:
                report.expect(mount["name"] in mounted and mount["readOnly"], f"{title}: mount {mount['name']}")
    everything = {(thing["kind"], thing["metadata"]["name"]): thing for thing in things}
    for thing in things:
        title = f"{name}: {thing['kind']} {thing['metadata']['name']}"
        spec = thing.get("spec", {})
        if thing["kind"] in ("PodDisruptionBudget", "PodMonitor"):
            wanted = spec["selector"]["matchLabels"]
            report.expect(any(labels_match(wanted, t["metadata"]["labels"]) for t in templates.values()), f"{title}: selects no pod")
        if thing["kind"] == "NetworkPolicy":
            wanted = spec["podSelector"]["matchLabels"]
            report.expect(any(labels_match(wanted, t["metadata"]["labels"]) for t in templates.values()), f"{title}: selects no pod")
            names_servers = any(
                port["port"] == 53 for rule in spec["egress"] for port in rule.get("ports", [])
            )
            report.expect(names_servers, f"{title}: keeps its pods from looking names up")
        if thing["kind"] == "Service":
            wanted = spec["selector"]
            report.expect(any(labels_match(wanted, t["metadata"]["labels"]) for t in templates.values()), f"{title}: selects no pod")
        if thing["kind"] == "ServiceMonitor":
            wanted = spec["selector"]["matchLabels"]
            services = [one for one in things if one["kind"] == "Service"]
            report.expect(any(labels_match(wanted, s["metadata"]["labels"]) for s in services), f"{title}: selects no service")
        if thing["kind"] in ("ScaledObject", "HorizontalPodAutoscaler"):
            target = spec["scaleTargetRef"]["name"]
            report.expect(("Deployment", target) in everything, f"{title}: scales {target}, which is not there")
            report.expect(
                "replicas" not in everything[("Deployment", target)]["spec"], f"{title}: {target} has a number of its own"
            )
        if thing["kind"] == "ScaledObject":
            for trigger in spec["triggers"]:
                host = re.match(r"https?://([^:/]+)", trigger["metadata"]["url"]).group(1)
                report.expect(("Service", host) in everything, f"{title}: asks {host}, which is no service")
                reference = trigger["authenticationRef"]["name"]
                report.expect(("TriggerAuthentication", reference) in everything, f"{title}: no {reference}")
            report.expect(spec["minReplicaCount"] == 1, f"{title}: may leave nobody to take in jobs")
            report.expect(spec["fallback"]["behavior"] == "currentReplicas", f"{title}: falls back to a number")
    kinds = {thing["kind"] for thing in things}
    report.expect(not {"ScaledObject", "HorizontalPodAutoscaler"} <= kinds, f"{name}: two scale the same Deployment")


def built(report, folder):
    status, said = run("kubectl", "kustomize", str(folder))
    report.expect(status == 0, f"{folder.name}: kubectl kustomize: {said}")
    return [thing for thing in yaml.safe_load_all(said) if thing] if status == 0 else []


def resources_of(folder):
    """Returns every resource of a kustomization without the patches and the names that kustomize generates."""
    text = yaml.safe_load((folder / "kustomization.yaml").read_text())
    for name in text.get("resources", []) + text.get("components", []):
        place = folder / name
        if place.is_dir():
            yield from resources_of(place)
        else:
            yield from (thing for thing in yaml.safe_load_all(place.read_text()) if thing)


# Changes that break a copy of the resources. The schemas or the relations must find each of them.
WOUNDS = [
    ("Deployment", lambda t: t["spec"].update(replica=3)),
    ("Deployment", lambda t: t["spec"]["template"]["spec"].update(terminationGracePeriodSeconds=10)),
    ("Deployment", lambda t: t["spec"]["template"]["spec"]["containers"][0]["livenessProbe"]["httpGet"].update(path="/readyz")),
    ("Deployment", lambda t: t["spec"]["template"]["spec"]["volumes"][1]["secret"].update(defaultMode=0o644)),
    ("Deployment", lambda t: t["spec"]["template"]["metadata"]["labels"].clear()),
    ("NetworkPolicy", lambda t: t["spec"].update(podSelectors={})),
    ("NetworkPolicy", lambda t: t["spec"]["egress"].pop(0)),
    ("Service", lambda t: t["spec"]["selector"].update({"app.kubernetes.io/name": "nobody"})),
    ("ScaledObject", lambda t: t["spec"]["triggers"][0]["metadata"].update(targetValue=1)),
    ("ScaledObject", lambda t: t["spec"]["fallback"].update(behaviour="static")),
    ("ScaledObject", lambda t: t["spec"].update(minReplicaCount=0)),
    ("PodMonitor", lambda t: t["spec"].update(endpoints=[])),
    ("PodDisruptionBudget", lambda t: t["spec"].update(maxUnavailable=[1])),
]


def notices_wounds(report, things):
    for kind, wound in WOUNDS:
        broken = copy.deepcopy(things)
        victim = next(thing for thing in broken if thing["kind"] == kind)
        wound(victim)
        trial = Report()
        trial.expect(schema_problem(victim, KUBERNETES[-1]) is None, "schema")
        try:
            relations(trial, broken, "broken")
        except (KeyError, TypeError, AttributeError):
            trial.problems.append("relations")
        report.expect(trial.problems, f"nobody notices a broken {kind}: {WOUNDS.index((kind, wound))}")


def compose(report):
    text = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    services = text["services"]
    workers = [name for name in services if name.startswith("worker")]
    report.expect(len(workers) == 3, f"compose: {workers}")
    ports = {services[name]["environment"]["CARILLON_ADMIN_LISTEN"] for name in workers}
    report.expect(len(ports) == 3, "compose: workers in one network share a port")
    for name in workers:
        environment = services[name]["environment"]
        report.expect(
            environment["CARILLON_ADMIN_LISTEN"].endswith(":" + environment["CARILLON_HEALTH_PORT"]),
            f"compose: {name}: the health check asks another port",
        )
    for name, service in services.items():
        for secret in service.get("secrets", []):
            report.expect(secret in text["secrets"], f"compose: {name}: no secret {secret}")
        for other in service.get("depends_on", {}):
            report.expect("healthcheck" in services[other], f"compose: {name} waits for {other}, which has no health check")
        if service["image"] == "carillon":
            report.expect(service["read_only"] and service["cap_drop"] == ["ALL"], f"compose: {name} is not locked down")


class Lives(http.server.BaseHTTPRequestHandler):
    """A server with the `/livez` of a worker."""

    status = 200

    def do_GET(self):
        self.send_response(self.status if self.path == "/livez" else 404)
        self.end_headers()

    def log_message(self, *_):
        pass


def health(report):
    """Checks that the image's health check returns the result of /livez, and fails if no server answers."""
    file = (DEPLOY / "Dockerfile").read_text()
    command = json.loads(re.search(r"^HEALTHCHECK .*?CMD (\[.*?\n.*?\])$", file, re.S | re.M).group(1).replace("\\\n", ""))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lives)
    environment = {**os.environ, "CARILLON_HEALTH_PORT": str(server.server_port)}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for status, expected in [(200, 0), (503, 1)]:
        Lives.status = status
        report.expect(run(*command, env=environment)[0] == expected, f"health check: {status} is not {expected}")
    server.shutdown()
    server.server_close()
    report.expect(run(*command, env=environment)[0] == 1, "health check: takes silence for health")


def main():
    report = Report()
    for kustomization in FOLDER.rglob("kustomization.yaml"):
        referenced_files(report, kustomization.parent)
    for name in ["example", "plain"]:
        folder = FOLDER / name
        things = built(report, folder) if has("kubectl") else list(resources_of(folder))
        for thing in things:
            for version in KUBERNETES:
                problem = schema_problem(thing, version)
                report.expect(problem is None, f"{name}: {thing['kind']} {thing['metadata']['name']}: {problem}")
        if has("kubectl"):
            relations(report, things, name)
            if name == "example":
                notices_wounds(report, things)
    compose(report)
    health(report)
    report.end(least=100)


main()
