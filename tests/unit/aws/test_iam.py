"""Whose credentials they are, and permissions that lack: named beforehand where IAM may be asked, else by the refusal."""

from __future__ import annotations

import pytest

from tiered_kv_cache.aws.api import denied
from tiered_kv_cache.aws.run import identity

from .account import CLUSTER, IRSA, ROLE, Account, texts

UPDATE = ("sagemaker:UpdateCluster", CLUSTER)
MESSAGE = f"User: {ROLE} is not authorized to perform: sagemaker:UpdateCluster on resource: {CLUSTER} because no policy allows it"


def test_what_lacks_is_named_before_anything_is_changed(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE, decision="implicitDeny")
    result = account.run({"apply": True})
    assert f"FAIL: IAM permission sagemaker:UpdateCluster on {CLUSTER} is missing" in texts(result)
    assert f'"Action": ["sagemaker:UpdateCluster"], "Resource": ["{CLUSTER}"]' in texts(result)
    assert account.changing == []


def test_a_dry_run_with_a_reader_passes_and_warns(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE, decision="implicitDeny")
    result = account.run({})
    assert (result.ok, result.steps[0].state) == (True, "would change")
    assert "warn: IAM permission sagemaker:UpdateCluster" in texts(result)


def test_what_depends_on_conditions_is_tried(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE, decision="implicitDeny", MissingContextValues=["aws:RequestTag/x"])
    account.updates()
    account.cluster(percentage=20)
    result = account.run({"apply": True})
    assert result.ok
    assert "warn: IAM permission" in texts(result)


def test_without_the_question_the_refusal_names_it(account: Account) -> None:
    account.cluster()
    account.may_not_ask()
    account.error("sagemaker", "update_cluster", "AccessDeniedException", MESSAGE)
    text = texts(account.run({"apply": True}))
    assert f"FAIL: IAM permission sagemaker:UpdateCluster on {CLUSTER} is missing (AWS: User: " in text
    assert "permissions are not looked at beforehand" in account.said[0]


def test_the_question_is_asked_once_only(account: Account) -> None:
    account.cluster()
    account.may_not_ask()
    account.no_addon("a")
    account.no_addon("b")
    assert account.run({"addons": [{"name": "a"}, {"name": "b"}]}).ok


def test_the_action_that_aws_names_is_another_than_the_call(account: Account) -> None:
    role = "arn:aws:iam::123456789012:role/x"
    text = str(denied("eks:CreateAddon", f"User: y is not authorized to perform: iam:PassRole on resource: {role}."))
    assert f"IAM permission iam:PassRole on {role} is missing" in text
    assert "IAM permission eks:CreateAddon on * is missing" in str(denied("eks:CreateAddon", "no"))


@pytest.mark.parametrize("code", ["ExpiredTokenException", "InvalidIdentityToken"])
def test_credentials_that_are_not_valid(code: str) -> None:
    account = Account(known=False)
    account.error("sts", "get_caller_identity", code, "gone")
    result = account.run({})
    assert f"FAIL: sts:GetCallerIdentity: the credentials are not valid ({code}: gone)" in texts(result)
    assert result.steps == []


def test_throttled_from_the_first_call_on() -> None:
    account = Account(known=False)
    for _ in range(2):
        account.error("sts", "get_caller_identity", "Throttling")
    assert "passed while calling sts:GetCallerIdentity" in texts(account.run({}, deadline=5))


def test_a_pod_without_an_identity(account: Account) -> None:
    (found,) = identity({"KUBERNETES_SERVICE_HOST": "x"})
    assert found[0] == "FAIL"
    assert "hooks.aws.roleArn (IRSA), or an EKS Pod Identity association" in found[1].fix
    assert identity(IRSA) == []
    assert (
        identity({"KUBERNETES_SERVICE_HOST": "x", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.170.23"}) == []
    )
    assert identity({}) == [], "outside a cluster it is the person's own"


def test_fixed_keys_in_a_pod_warn(account: Account) -> None:
    account.cluster(percentage=20)
    result = account.run({}, env=IRSA | {"AWS_ACCESS_KEY_ID": "AKIA"})
    assert result.ok
    assert "warn: environment AWS_ACCESS_KEY_ID is set in this Pod" in texts(result)
    assert identity({"AWS_ACCESS_KEY_ID": "AKIA"}) == []
