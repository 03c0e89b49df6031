"""Images: their age, parallel pulls, and who may use those that are on the node already."""

import re
from collections.abc import Iterator

from cpuplan.upstream.kubelet.config.rules.base import Given, alternatives
from cpuplan.upstream.kubelet.errors import KubeletError
from cpuplan.upstream.kubelet.go.durations import duration_text

_ALLOWLISTED = "NeverVerifyAllowlistedImages"
_POLICIES = ("NeverVerify", "NeverVerifyPreloadedImages", _ALLOWLISTED, "AlwaysVerify")
_POLICY_FIELD = "imagePullCredentialsVerificationPolicy"
_ALLOWLIST_FIELD = "preloadedImagesVerificationAllowlist"

#: References to images (github.com/distribution/reference).
_HOST_PART = r"(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_HOST_PART}(?:\.{_HOST_PART})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_PATH = rf"{_PATH_PART}(?:/{_PATH_PART})*"
_TAG = r"[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}"
_DIGEST = r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"
_REFERENCE = re.compile(rf"((?:{_HOST}/)?{_PATH})(?::({_TAG}))?(?:@({_DIGEST}))?")
_NAME = re.compile(rf"(?:{_HOST}/)?({_PATH})")
_MAX_PATH = 255
#: Characters of the digests that Go knows.
_DIGEST_SIZES = {"sha256": 64, "sha384": 96, "sha512": 128}


def maximum_age_gate(given: Given) -> Iterator[str]:
    if given.config.get("imageMaximumGCAge", 0) and not given.gates.enabled("ImageMaximumGCAge"):
        option = "imageMaximumGCAge" if given.is_since(30) else "ImageMaximumGCAge"
        what = f"Kubelet configuration option {option}"
        yield f"ImageMaximumGCAge feature gate is required for {what}"


def minimum_age(given: Given) -> Iterator[str]:
    age = given.config["imageMinimumGCAge"]
    if age < 0:
        yield f"imageMinimumGCAge {duration_text(age)} must not be negative"


def maximum_age(given: Given) -> Iterator[str]:
    oldest = given.config.get("imageMaximumGCAge", 0)
    youngest = given.config["imageMinimumGCAge"]
    shown = f"imageMaximumGCAge {duration_text(oldest)}"
    if oldest < 0:
        yield f"{shown} must not be negative"
    if 0 < oldest <= youngest:
        yield f"{shown} must be greater than imageMinimumGCAge {duration_text(youngest)}"


def parallel_pulls(given: Given) -> Iterator[str]:
    pulls = given.config.get("maxParallelImagePulls")
    if pulls is None:
        return
    if pulls < 1:
        yield f"maxParallelImagePulls {pulls} must be a positive number"
    if pulls > 1 and given.config["serializeImagePulls"]:
        flag = "SerializeImagePulls (--serialize-image-pulls)"
        yield f"maxParallelImagePulls cannot be larger than 1 unless {flag} is set to false"


def pulled_secretly(given: Given) -> Iterator[str]:
    """Policy and allowlist of KubeletEnsureSecretPulledImages, without which neither may be set."""
    policy = given.config.get(_POLICY_FIELD, "")
    patterns = given.config.get(_ALLOWLIST_FIELD, ())
    if not given.gates.enabled("KubeletEnsureSecretPulledImages"):
        reason = "must not be set if KubeletEnsureSecretPulledImages feature gate is not enabled"
        for field, value in ((_POLICY_FIELD, policy), (_ALLOWLIST_FIELD, patterns)):
            if value:
                yield f"`{field}` {reason}"
        return
    if policy not in _POLICIES:
        options = f"Valid options are {alternatives(_POLICIES)}"
        yield f'option "{policy}" specified for {_POLICY_FIELD}. {options}'
    if patterns and policy != _ALLOWLISTED:
        field = "`imagePullCredentialsVertificationPolicy`"
        yield f'can\'t set `{_ALLOWLIST_FIELD}` if {field} is not "{_ALLOWLISTED}"'
        return
    try:
        for pattern in patterns:
            _check_pattern(pattern)
    except KubeletError as error:
        yield f"invalid image pattern in `{_ALLOWLIST_FIELD}`: {error}"


def _check_pattern(pattern: str) -> None:
    """KubeletError unless it is an image without tag and digest, or a prefix and `/*`."""
    if pattern != pattern.strip():
        raise KubeletError(f"leading/trailing spaces are not allowed: {pattern}")
    name = pattern[:-1] if pattern.endswith("/*") else pattern
    if not name:
        raise KubeletError(f"the supplied pattern is too short: {pattern}")
    if "*" in name:
        rule = "only patterns ending with '/*' are allowed"
        raise KubeletError(f"not a valid wildcard pattern, {rule}: {pattern}")
    if name == pattern:
        _check_name(name)
    elif name == "/":
        raise KubeletError("at least registry hostname is required")


def _check_name(image: str) -> None:
    reference = _REFERENCE.fullmatch(image)
    try:
        if reference is None:
            is_lower = not _REFERENCE.fullmatch(image.lower())
            problem = (
                "invalid reference format" if is_lower else "repository name must be lowercase"
            )
            raise KubeletError(problem)
        path = _NAME.fullmatch(reference[1])
        if path and len(path[1]) > _MAX_PATH:
            raise KubeletError(f"repository name must not be more than {_MAX_PATH} characters")
        if reference[3]:
            _check_digest(reference[3])
    except KubeletError as error:
        raise KubeletError(f"failed to parse as an image name: {error}") from None
    if reference[2] or reference[3]:
        problem = "neither tag nor digest is accepted in an image reference"
        raise KubeletError(f"{problem}: {image}")


def _check_digest(digest: str) -> None:
    algorithm, _, encoded = digest.partition(":")
    if algorithm not in _DIGEST_SIZES:
        is_formed = re.fullmatch(r"[a-z0-9]+(?:[.+_-][a-z0-9]+)*", algorithm)
        raise KubeletError(
            "unsupported digest algorithm" if is_formed else "invalid checksum digest format"
        )
    if len(encoded) != _DIGEST_SIZES[algorithm]:
        raise KubeletError("invalid checksum digest length")
    if encoded != encoded.lower():
        raise KubeletError("invalid checksum digest format")
