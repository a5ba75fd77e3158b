"""Requests of kubelets and of tests, to a pretended API server and to a real one alike."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from muster.backends.kubernetes.api import KubernetesApi

Object = dict[str, Any]


class Admin(KubernetesApi):
    """May do everything."""

    def __init__(self, kubeconfig: Path) -> None:
        super().__init__(kubeconfig)

    def status(self, path: str, status: Mapping[str, Any]) -> bool:
        """Say how an object is."""
        return self.patch(f"{path}/status", {"status": dict(status)})

    def remove(self, path: str, grace_s: int | None = None) -> bool:
        """Delete an object, as `kubectl delete` does, or as a kubelet does whose pod is gone (0)."""
        body = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        return self._did("DELETE", path, body, {})
