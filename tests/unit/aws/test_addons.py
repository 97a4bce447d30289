"""Stage 2: add-ons in their order, what is on the cluster kept, and every way in which one is not well."""

from __future__ import annotations

import pytest

from .account import ADDON_ROLE, EKS, REGION, Account, Json, texts

INFERENCE = "amazon-sagemaker-hyperpod-inference"
NAMES = ("aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver", "metrics-server", "cert-manager", INFERENCE)
CREATE = ("eks:CreateAddon", EKS)


def wanted(*addons: Json, apply: bool = True) -> Json:
    return {"apply": apply, "tieredStorage": {"enabled": False}, "addons": list(addons)}


def update(name: str) -> tuple[str, str]:
    return ("eks:UpdateAddon", f"arn:aws:eks:{REGION}:123456789012:addon/kv/{name}/1")


def one(account: Account, **more: object) -> Json:
    account.cluster()
    return {"name": "metrics-server", **more}


def test_all_are_made_each_after_the_one_before_is_active(account: Account) -> None:
    account.cluster()
    for name in NAMES:
        account.no_addon(name)
        account.allows(CREATE)
        account.creates(name, {"executionRoleArn": "x"} if name == INFERENCE else None)
        account.addon(name, "CREATING")
        account.addon(name)
    last = {"name": INFERENCE, "configuration": {"executionRoleArn": "x"}}
    result = account.run(wanted(*({"name": name} for name in NAMES[:-1]), last))
    assert result.ok
    assert [(step.name, step.state) for step in result.steps[1:]] == [(f"add-on {name}", "changed") for name in NAMES]
    assert account.changing == ["CreateAddon"] * 5


def test_second_run_changes_nothing(account: Account) -> None:
    account.cluster()
    for name in NAMES:
        account.addon(name, serviceAccountRoleArn=ADDON_ROLE, configurationValues='{"b": [1], "a": {"x": true}}')
    addons = [
        {"name": name, "version": "v1", "serviceAccountRoleArn": ADDON_ROLE, "configuration": {"a": {"x": True}}}
        for name in NAMES
    ]
    result = account.run(wanted(*addons))
    assert result.ok
    assert {step.state for step in result.steps} == {"as wanted"}
    assert account.changing == []


def test_dry_run_shows_each_call_and_makes_none(account: Account) -> None:
    account.cluster()
    account.no_addon("metrics-server")
    account.allows(CREATE, ("iam:PassRole", ADDON_ROLE))
    account.addon("cert-manager", configurationValues="replicas: 2\nlog: info\n")
    account.allows(update("cert-manager"))
    first = {"name": "metrics-server", "version": "v9", "serviceAccountRoleArn": ADDON_ROLE}
    second = {"name": "cert-manager", "configuration": {"replicas": 3}}
    result = account.run(wanted(first, second, apply=False))
    assert (result.ok, account.changing) == (True, [])
    _, create, change = result.steps
    assert [str(each) for each in create.changes] == [
        "addonVersion: (none) -> v9",
        f"serviceAccountRoleArn: (none) -> {ADDON_ROLE}",
    ]
    assert create.call is not None
    assert create.call.parameters == {
        "clusterName": "kv", "addonName": "metrics-server", "addonVersion": "v9", "serviceAccountRoleArn": ADDON_ROLE,
        "resolveConflicts": "PRESERVE",
    }  # fmt: skip
    assert [str(each) for each in change.changes] == ["configurationValues.replicas: 2 -> 3"]
    assert change.call is not None
    assert change.call.parameters["configurationValues"] == '{"log": "info", "replicas": 3}'


def test_an_update_keeps_what_it_does_not_change(account: Account) -> None:
    """EKS replaces the configuration as a whole and puts the role back where none is given."""
    addon = one(account, configuration={"a": {"new": 1}})
    account.addon("metrics-server", serviceAccountRoleArn=ADDON_ROLE, configurationValues='{"a": {"old": 1}, "b": "x"}')
    account.allows(update("metrics-server"))
    account.updates_addon("metrics-server", {"a": {"new": 1, "old": 1}, "b": "x"}, serviceAccountRoleArn=ADDON_ROLE)
    account.update_is("metrics-server", "InProgress")
    account.update_is("metrics-server", "Successful")
    account.addon("metrics-server", "UPDATING")
    account.addon("metrics-server")
    result = account.run(wanted(addon))
    assert result.ok
    assert result.steps[1].state == "changed"
    assert account.said == ["update of add-on metrics-server is InProgress", "add-on metrics-server is UPDATING, v1"]


def test_another_version(account: Account) -> None:
    addon = one(account, version="v2")
    account.addon("metrics-server")
    account.allows(update("metrics-server"))
    account.updates_addon("metrics-server", addonVersion="v2")
    account.update_is("metrics-server", "Successful")
    account.addon("metrics-server", addonVersion="v2")
    assert account.run(wanted(addon)).ok


def test_a_configuration_that_cannot_be_read_is_not_replaced(account: Account) -> None:
    addon = one(account, configuration={"a": 1})
    account.addon("metrics-server", configurationValues="[1, 2]")
    text = texts(account.run(wanted(addon)))
    assert "cannot be read (it is a list), and would be lost by a change" in text
    assert account.changing == []


def test_conflicting_configuration(account: Account) -> None:
    addon = one(account, configuration={"a": 1})
    account.addon("metrics-server")
    account.allows(update("metrics-server"))
    account.updates_addon("metrics-server", {"a": 1})
    conflict = {
        "errorCode": "ConfigurationConflict",
        "errorMessage": "DaemonSet.apps x - .spec.a",
        "resourceIds": ["x"],
    }
    account.update_is("metrics-server", "Failed", conflict)
    result = account.run(wanted(addon, {"name": "cert-manager"}))
    assert "the update is Failed: ConfigurationConflict: DaemonSet.apps x - .spec.a [x]" in texts(result)
    assert "resolveConflicts: OVERWRITE, which takes EKS's values" in texts(result)
    assert [step.state for step in result.steps[1:]] == ["FAILED", "not tried"]


def test_overwriting_is_never_silent(account: Account) -> None:
    addon = one(account, resolveConflicts="OVERWRITE", configuration={"a": 1})
    account.addon("metrics-server")
    account.allows(update("metrics-server"))
    account.updates_addon("metrics-server", {"a": 1}, resolveConflicts="OVERWRITE")
    account.update_is("metrics-server", "Successful")
    account.addon("metrics-server")
    result = account.run(wanted(addon))
    assert result.ok
    assert "warn: add-on metrics-server: resolveConflicts: OVERWRITE replaces" in texts(result)


@pytest.mark.parametrize("status", ["DEGRADED", "UPDATE_FAILED", "CREATE_FAILED", "DELETE_FAILED"])
def test_one_that_is_not_well(account: Account, status: str) -> None:
    addon = one(account)
    issues = [
        {"code": "InsufficientNumberOfReplicas", "message": "0 of 1", "resourceIds": []},
        {"code": "AccessDenied", "message": "no s3:ListBucket"},
    ]
    account.addon("metrics-server", status, health={"issues": issues})
    result = account.run(wanted(addon))
    text = texts(result)
    assert f"FAIL: add-on metrics-server: it is {status}: InsufficientNumberOfReplicas: 0 of 1" in text
    assert f"FAIL: add-on metrics-server: it is {status}: AccessDenied: no s3:ListBucket" in text
    assert "serviceAccountRoleArn" in text
    assert ("aws eks delete-addon --cluster-name kv --addon-name metrics-server --preserve" in text) == (
        status in ("CREATE_FAILED", "DELETE_FAILED")
    )
    assert account.changing == []


def test_one_that_failed_to_be_made_is_not_updated(account: Account) -> None:
    addon = one(account, version="v2")
    account.addon("metrics-server", "CREATE_FAILED")
    result = account.run(wanted(addon))
    assert "EKS gives no reason" in texts(result)
    assert (result.steps[1].changes, account.changing) == ([], [])


def test_a_degraded_one_is_mended_by_the_configuration_that_is_wanted(account: Account) -> None:
    addon = one(account, configuration={"a": 1})
    account.addon("metrics-server", "DEGRADED")
    account.allows(update("metrics-server"))
    account.updates_addon("metrics-server", {"a": 1})
    account.update_is("metrics-server", "Successful")
    account.addon("metrics-server")
    assert account.run(wanted(addon)).ok


def test_an_issue_of_one_that_is_active_warns(account: Account) -> None:
    addon = one(account)
    account.addon("metrics-server", health={"issues": [{"code": "Unknown", "message": "odd"}]})
    result = account.run(wanted(addon))
    assert result.ok
    assert "warn: add-on metrics-server: it is ACTIVE, with an issue: Unknown: odd" in texts(result)


def test_partial_failure_then_again(account: Account) -> None:
    addons = [{"name": "metrics-server"}, {"name": "cert-manager"}]
    account.cluster()
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.creates("metrics-server")
    account.addon("metrics-server")
    account.no_addon("cert-manager")
    account.allows(CREATE)
    account.creates("cert-manager")
    account.addon("cert-manager", "CREATING")
    account.addon(
        "cert-manager", "DEGRADED", health={"issues": [{"code": "InsufficientNumberOfReplicas", "message": "0"}]}
    )
    assert [step.state for step in account.run(wanted(*addons)).steps] == ["as wanted", "changed", "FAILED"]
    again = Account()
    again.cluster()
    again.addon("metrics-server")
    again.addon("cert-manager", "UPDATING")
    again.addon("cert-manager")
    result = again.run(wanted(*addons))
    assert (result.ok, again.changing) == (True, [])


def test_time_out_then_the_rest_is_not_tried(account: Account) -> None:
    addon = one(account)
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.creates("metrics-server")
    account.addon("metrics-server", "CREATING")
    account.addon("metrics-server", "CREATING")
    result = account.run(wanted(addon, {"name": "cert-manager"}), deadline=25)
    assert "waiting: add-on metrics-server is CREATING, v1" in texts(result)
    assert [step.state for step in result.steps[1:]] == ["FAILED", "not tried"]


def test_one_that_is_being_deleted_is_made_again(account: Account) -> None:
    addon = one(account)
    account.addon("metrics-server", "DELETING")
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.creates("metrics-server")
    account.addon("metrics-server")
    assert account.run(wanted(addon)).ok


def test_one_that_is_busy_in_a_dry_run(account: Account) -> None:
    addon = one(account)
    account.addon("metrics-server", "UPDATING")
    result = account.run(wanted(addon, apply=False))
    assert result.ok
    assert "warn: add-on metrics-server is UPDATING" in texts(result)


def test_an_answer_that_was_lost(account: Account) -> None:
    addon = one(account)
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.error("eks", "create_addon", "ServerException")
    account.error("eks", "create_addon", "ResourceInUseException", "Addon already exists")
    account.addon("metrics-server")
    assert account.run(wanted(addon)).ok


def test_one_that_goes_while_it_is_waited_for(account: Account) -> None:
    addon = one(account)
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.creates("metrics-server")
    account.no_addon("metrics-server")
    assert "went while it was waited for" in texts(account.run(wanted(addon)))


def test_refused_input(account: Account) -> None:
    addon = one(account, version="v0")
    account.no_addon("metrics-server")
    account.allows(CREATE)
    account.error("eks", "create_addon", "InvalidParameterException", "Addon version specified is not supported")
    text = texts(account.run(wanted(addon)))
    assert "hooks.aws.addons: metrics-server: eks:CreateAddon was refused: InvalidParameterException" in text
    assert "aws eks describe-addon-versions --addon-name metrics-server" in text


def test_no_such_eks_cluster(account: Account) -> None:
    addon = one(account)
    account.error("eks", "describe_addon", "ResourceNotFoundException", "No cluster found for name: kv.")
    text = texts(account.run(wanted(addon)))
    assert "hooks.aws.eksClusterName: kv:" in text
    assert account.changing == []
