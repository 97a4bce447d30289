"""One client of AWS: errors in one form, throttling shown and waited for, and never beyond the deadline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    ParamValidationError,
)
from botocore.exceptions import (
    ConnectionError as Unconnected,
)

from ..deadline import Deadline
from ..findings import Finding, shorten

Say = Callable[[str], None]

THROTTLED = {
    "Throttling",
    "ThrottlingException",
    "ThrottledException",
    "TooManyRequestsException",
    "RequestLimitExceeded",
}
PASSING = {
    "InternalFailure",
    "InternalError",
    "InternalServerError",
    "ServerException",
    "ServiceUnavailable",
    "RequestTimeout",
}
DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "UnauthorizedException"}
EXPIRED = {
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "UnrecognizedClientException",
    "InvalidIdentityToken",
}
FIRST_PAUSE, MOST_PAUSE = 2.0, 30.0
"""Seconds between two tries; each pause is twice the one before."""
UNREACHED_SECONDS = 90.0
"""Connections that fail for so long do not come by waiting."""
NOT_AUTHORIZED = re.compile(r"not authorized to perform: (?P<action>[\w-]+:\w+)(?: on resource: (?P<resource>\S+))?")
IDENTITY_FIX = "give the Job's ServiceAccount a role: hooks.aws.roleArn (IRSA), or an EKS Pod Identity association for it (docs/aws.md)"


class AwsError(Exception):
    """AWS says no. ``code``: its name for the error; ``finding``: the same for people."""

    def __init__(self, code: str, finding: Finding) -> None:
        super().__init__(str(finding))
        self.code, self.finding = code, finding


class Api:
    """``service``: as IAM names it; ``client``: boto3's."""

    def __init__(self, service: str, client: Any, deadline: Deadline, say: Say) -> None:
        self.service = service
        self.deadline = deadline
        self.say = say
        self._client = client

    def call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call by its name in AWS's API, e.g. DescribeCluster. Raises AwsError, DeadlinePassed."""
        method = getattr(self._client, re.sub(r"(?<!^)(?=[A-Z])", "_", operation).lower())
        name = f"{self.service}:{operation}"
        pause = FIRST_PAUSE
        unreached = self.deadline.within(UNREACHED_SECONDS)
        while True:
            self.deadline.check(f"calling {name}")
            try:
                answer: dict[str, Any] = method(**parameters)
                return answer
            except ClientError as err:
                code = str(err.response.get("Error", {}).get("Code", ""))
                if code not in THROTTLED | PASSING:
                    raise AwsError(code, _finding(name, code, err)) from err
                why = f"AWS throttles ({code})" if code in THROTTLED else f"AWS has a fault of its own ({code})"
            except NoCredentialsError as err:
                raise AwsError("NoCredentials", Finding("no credentials were found", IDENTITY_FIX)) from err
            except ParamValidationError as err:
                what = f"{name} does not take these parameters: {shorten(str(err), 300)}"
                raise AwsError("ParamValidation", Finding(what, "correct the value that it names")) from err
            except (HTTPClientError, Unconnected) as err:
                if unreached.passed():
                    what = f"{name} is not reached: {shorten(str(err), 200)}"
                    fix = "check hooks.aws.region, and the way out on port 443 (NAT gateway, VPC endpoint, network policies)"
                    raise AwsError("Unreachable", Finding(what, fix)) from err
                why = f"no connection ({shorten(str(err), 100)})"
            except BotoCoreError as err:
                raise AwsError("Client", Finding(f"{name} failed: {shorten(str(err), 300)}", IDENTITY_FIX)) from err
            self.say(f"{name}: {why}; again in {pause:.0f} s")
            self.deadline.sleep(pause)
            pause = min(MOST_PAUSE, 2 * pause)


def _finding(name: str, code: str, err: ClientError) -> Finding:
    text = shorten(str(err.response.get("Error", {}).get("Message", "")), 600)
    if code in DENIED:
        return denied(name, text)
    if code in EXPIRED:
        return Finding(f"{name}: the credentials are not valid ({code}: {text})", IDENTITY_FIX)
    return Finding(f"{name} was refused: {code}: {text}", "correct what the message names, then run this again")


def denied(name: str, text: str) -> Finding:
    """A permission that is missing, by the action that AWS names, which may be another than the one that was called."""
    found = NOT_AUTHORIZED.search(text)
    action = found["action"] if found else name
    resource = (found["resource"] or "*").rstrip(".,") if found else "*"
    return missing(action, resource, f" (AWS: {text})")


def missing(action: str, resource: str, more: str = "") -> Finding:
    """The same for one that is known without a message."""
    statement = json.dumps({"Effect": "Allow", "Action": [action], "Resource": [resource]})
    return Finding(
        f"IAM permission {action} on {resource} is missing{more}",
        f"add it to the policy of the Job's role (all of it: docs/aws.md): {statement}; a policy with a Deny, a permissions boundary or "
        "a service control policy can take it away, too",
    )
