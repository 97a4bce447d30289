"""References of images: each image of the values is refused where no registry could answer."""

from __future__ import annotations

import pytest

from chart.helm import Helm, Json, model

VERSIONS = {"vllm": "0.32.0+cpu", "lmcache": "0.5.6"}


def _layer(place: str, image: Json) -> Json:
    if place == "models.tiny.engine.image":
        return model(engine={"image": image, "versions": VERSIONS})
    return {place.split(".", maxsplit=1)[0]: {"image": image}}


PLACES = ["models.tiny.engine.image", "router.image", "hooks.image"]
REPOSITORIES = [
    "reg.io/foo/bar:v1",
    "foo:v1",
    "reg.io:5000",
    "https://reg.io/foo",
    "reg.io/Foo/bar",
    "reg.io/foo/",
    "reg.io//foo",
    "reg.io/foo/-bar",
    "reg.io/foo..bar",
    "reg.io:port/foo",
    "a" * 256,
]
TAGS = ["v 1", "a/b", "a:b", "-v1", ".v1", "v1+cpu", "v" * 129]


@pytest.mark.parametrize("place", PLACES)
def test_every_image_is_looked_at(helm: Helm, place: str) -> None:
    message = helm.refusal(_layer(place, {"repository": "reg.io/foo/bar:v1", "tag": "a b"}))
    assert message.count("why: ") == 2, message
    assert f'{place}.repository: "reg.io/foo/bar:v1"' in message
    assert "a tag goes into tag" in message
    assert f'{place}.tag: "a b"' in message
    assert "write the tag alone" in message


@pytest.mark.parametrize("repository", REPOSITORIES)
def test_repository_is_refused(helm: Helm, repository: str) -> None:
    message = helm.refusal(_layer("router.image", {"repository": repository, "tag": "v1"}))
    # The schema refuses what it can see by itself.
    assert "router.image.repository" in message or "/router/image/repository" in message, message
    assert "router.image.tag" not in message


@pytest.mark.parametrize("tag", TAGS)
def test_tag_is_refused(helm: Helm, tag: str) -> None:
    helm.assert_refused(_layer("hooks.image", {"tag": tag}), [f'hooks.image.tag: "{tag}"', "not a tag", "tag alone"])


@pytest.mark.parametrize("digest", ["sha256:" + "A" * 64, "sha256:" + "a" * 63, "md5:" + "a" * 64, "a" * 64])
@pytest.mark.parametrize("place", PLACES)
def test_digest_is_refused(helm: Helm, place: str, digest: str) -> None:
    assert "digest" in helm.refusal(_layer(place, {"digest": digest}))


@pytest.mark.parametrize(
    "repository",
    [
        "foo",
        "foo/bar",
        "localhost/foo",
        "localhost:5000/foo",
        "reg.io:5000/a/b/c",
        "reg.io/a_b/c__d/e--f.g",
        "10.0.0.1/x",
    ],
)
def test_repository_is_taken(helm: Helm, repository: str) -> None:
    manifests = helm.template(_layer("router.image", {"repository": repository, "tag": "V_1.2-x"}))
    assert manifests.pod("router")["spec"]["containers"][0]["image"] == f"{repository}:V_1.2-x"
