"""What users of python3-kubernetes do: the dynamic client, typed clients, watches, apply, chunks, leader election.

Prints one line of JSON for each check. The kubeconfig is in KUBECONFIG.
"""

import json
import threading
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import ConflictError, DynamicApiError, NotFoundError
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

GROUP = "zoo.example.com"
VERSION = GROUP + "/v1"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"


def check(what, holds, because=""):
    print(json.dumps({"what": what, "holds": bool(holds), "because": str(because)}), flush=True)


def check_equal(what, actual, expected):
    check(what, actual == expected, f"it is {actual}, not {expected}")


def check_raises(what, error, status, call):
    try:
        call()
        check(what, False, "it succeeded")
    except error as raised:
        check_equal(what, raised.status, status)


def snake(number, **spec):
    return {
        "apiVersion": VERSION,
        "kind": "Snake",
        "metadata": {"name": f"snake-{number}", "labels": {"group": str(number % 3)}},
        "spec": {"length": number, **spec},
    }


def define(api):
    """The typed client of definitions, with a body from its own classes."""
    schema = client.V1JSONSchemaProps(type="object", x_kubernetes_preserve_unknown_fields=True)
    version = client.V1CustomResourceDefinitionVersion(
        name="v1",
        served=True,
        storage=True,
        schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
        subresources=client.V1CustomResourceSubresources(status={}),
    )
    definition = client.V1CustomResourceDefinition(
        metadata=client.V1ObjectMeta(name="snakes." + GROUP),
        spec=client.V1CustomResourceDefinitionSpec(
            group=GROUP,
            scope="Namespaced",
            names=client.V1CustomResourceDefinitionNames(plural="snakes", singular="snake", kind="Snake"),
            versions=[version],
        ),
    )
    definitions = client.ApiextensionsV1Api(api)
    definitions.create_custom_resource_definition(definition)
    for _ in range(100):
        status = definitions.read_custom_resource_definition("snakes." + GROUP).status
        if any(each.type == "Established" and each.status == "True" for each in status.conditions or []):
            break
        time.sleep(0.1)
    else:
        check("the definition is established", False, status)


def dynamic_client(api):
    dyn = dynamic.DynamicClient(api)
    snakes = dyn.resources.get(api_version=VERSION, kind="Snake")
    check_equal("discovery knows the subresource", list(snakes.subresources), ["status"])
    created = [dyn.create(snakes, body=snake(number), namespace="default") for number in range(10)]
    check("objects are created", all(each.metadata.uid for each in created))

    events = []
    start = created[-1].metadata.resourceVersion
    watcher = watch.Watch()

    def follow():
        for event in dyn.watch(snakes, namespace="default", resource_version=start, timeout=60, watcher=watcher):
            events.append(f"{event['type']} {event['object'].metadata.name}")
            if event["object"].metadata.name == "snake-9":
                watcher.stop()

    following = threading.Thread(target=follow)
    following.start()

    read = dyn.get(snakes, name="snake-1", namespace="default")
    read.spec.length = 100
    replaced = dyn.replace(snakes, body=read.to_dict(), namespace="default")
    check_equal("replace", replaced.spec.length, 100)
    check_raises(
        "replace of an old version",
        ConflictError,
        409,
        lambda: dyn.replace(snakes, body=read.to_dict(), namespace="default"),
    )
    red = {"spec": {"colour": "red"}}
    patched = dyn.patch(snakes, body=red, name="snake-2", namespace="default", content_type=MERGE)
    check_equal("merge patch", patched.to_dict()["spec"], {"colour": "red", "length": 2})
    check_raises(
        "a strategic merge patch, its default, of a custom resource",
        DynamicApiError,
        415,
        lambda: dyn.patch(snakes, body={"spec": {}}, name="snake-2", namespace="default"),
    )
    status = snakes.status.patch(body={"status": {"ok": True}}, name="snake-2", namespace="default", content_type=MERGE)
    check_equal("patch of the status", status.status.ok, True)

    # This version sends only text as an apply patch.
    applied = dyn.patch(
        snakes,
        body=json.dumps(snake(20, colour="green")),
        name="snake-20",
        namespace="default",
        content_type=APPLY,
        field_manager="one",
    )
    check_equal("apply creates", applied.metadata.managedFields[0].operation, "Apply")
    other = json.dumps(snake(20, colour="blue"))
    check_raises(
        "apply of another manager's field",
        ConflictError,
        409,
        lambda: dyn.server_side_apply(snakes, body=other, name="snake-20", namespace="default", field_manager="two"),
    )
    forced = dyn.server_side_apply(
        snakes, body=other, name="snake-20", namespace="default", field_manager="two", force_conflicts=True
    )
    check_equal("apply by force", forced.spec.colour, "blue")

    dyn.delete(snakes, name="snake-9", namespace="default")
    check_raises("a deleted object", NotFoundError, 404, lambda: dyn.get(snakes, name="snake-9", namespace="default"))
    following.join(60)
    check_equal(
        "a watch from a version sees every change in order",
        events,
        [
            "MODIFIED snake-1",
            "MODIFIED snake-2",
            "MODIFIED snake-2",
            "ADDED snake-20",
            "MODIFIED snake-20",
            "DELETED snake-9",
        ],
    )

    names = []
    page = dyn.get(snakes, namespace="default", limit=4)
    pages = 1
    while True:
        names += [each.metadata.name for each in page.items]
        following_page = getattr(page.metadata, "continue")
        if not following_page:
            break
        page = dyn.get(snakes, namespace="default", limit=4, _continue=following_page)
        pages += 1
    check_equal("a list in chunks", (pages, len(names), len(set(names))), (3, 10, 10))
    selected = dyn.get(snakes, namespace="default", label_selector="group in (1,2),colour!=x")
    check_equal("a list with a selector", len(selected.items), 7)
    dyn.delete(snakes, namespace="default", label_selector="group=2")
    check_equal("a deletion by selector", len(dyn.get(snakes, namespace="default").items), 6)


def typed_clients(api):
    core = client.CoreV1Api(api)
    # Bodies without kind and apiVersion, as the classes make them.
    body = client.V1ConfigMap(metadata=client.V1ObjectMeta(name="settings"), data={"a": "1"})
    created = core.create_namespaced_config_map("default", body)
    check_equal("create_namespaced_config_map", (created.kind, created.data), ("ConfigMap", {"a": "1"}))
    patched = core.patch_namespaced_config_map("settings", "default", {"data": {"b": "2"}})
    check_equal("patch_namespaced_config_map", patched.data, {"a": "1", "b": "2"})
    patched.data = {"c": "3"}
    replaced = core.replace_namespaced_config_map("settings", "default", patched)
    check_equal("replace_namespaced_config_map", replaced.data, {"c": "3"})
    check_raises(
        "a second create", ApiException, 409, lambda: core.create_namespaced_config_map("default", body)
    )
    secret = core.create_namespaced_secret(
        "default", client.V1Secret(metadata=client.V1ObjectMeta(generate_name="key-"), string_data={"key": "x"})
    )
    check_equal("create_namespaced_secret", secret.data, {"key": "eA=="})
    core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name="made")))
    check("list_namespace", "made" in [each.metadata.name for each in core.list_namespace().items])
    check_equal("list in a missing namespace", core.list_namespaced_secret("missing").items, [])
    seen = [
        event["object"].metadata.name
        for event in watch.Watch().stream(core.list_namespaced_config_map, "default", timeout_seconds=1)
    ]
    check("a typed watch", "settings" in seen, seen)
    deleted = core.delete_namespaced_config_map("settings", "default")
    check_equal("delete_namespaced_config_map", deleted.status, "Success")
    review = client.AuthorizationV1Api(api).create_self_subject_access_review(
        client.V1SelfSubjectAccessReview(
            spec=client.V1SelfSubjectAccessReviewSpec(
                resource_attributes=client.V1ResourceAttributes(verb="list", group=GROUP, resource="snakes")
            )
        )
    )
    check_equal("create_self_subject_access_review", review.status.allowed, True)
    custom = client.CustomObjectsApi(api)
    listed = custom.list_namespaced_custom_object(GROUP, "v1", "default", "snakes")
    check_equal("list_namespaced_custom_object", len(listed["items"]), 6)
    merged = custom.patch_namespaced_custom_object(GROUP, "v1", "default", "snakes", "snake-1", {"spec": {"a": 1}})
    check_equal("patch_namespaced_custom_object", merged["spec"]["a"], 1)
    utils.create_from_dict(
        api,
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "from-dict", "namespace": "default"},
            "data": {"a": "b"},
        },
    )
    check_equal("create_from_dict", core.read_namespaced_config_map("from-dict", "default").data, {"a": "b"})


def elect():
    """The library's leader election: by the annotation of a ConfigMap."""
    led = threading.Event()
    lock = ConfigMapLock("elected", "default", "first")
    settings = electionconfig.Config(
        lock,
        lease_duration=6,
        renew_deadline=4,
        retry_period=1,
        onstarted_leading=led.set,
        onstopped_leading=None,
    )
    threading.Thread(target=leaderelection.LeaderElection(settings).run, daemon=True).start()
    check("a leader is elected", led.wait(30))
    annotations = client.CoreV1Api().read_namespaced_config_map("elected", "default").metadata.annotations
    record = json.loads(annotations["control-plane.alpha.kubernetes.io/leader"])
    check_equal("the ConfigMap names the leader", record["holderIdentity"], "first")


config.load_kube_config()
shared = client.ApiClient()
check_equal("version", client.VersionApi(shared).get_code().major, "1")
define(shared)
dynamic_client(shared)
typed_clients(shared)
elect()
