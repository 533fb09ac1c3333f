"""Gives each pytest-xdist worker a world of its own in one running ackdrop, and each test a fresh one."""

import os

import pytest
import requests

URL = os.environ.get("ACKDROP_URL", "http://localhost:8080")


class Ackdrop:
    def __init__(self, scope):
        self.scope, self.url, self.key = scope, URL, f"sk_test_~{scope}"
        self.smtp = requests.get(f"{URL}/_addresses").json()["smtp"]
        requests.post(f"{URL}/_reset?scope={scope}").raise_for_status()

    def fault(self, **rule):
        requests.post(f"{URL}/_faults?scope={self.scope}", json=rule).raise_for_status()

    def effects(self):
        return requests.get(f"{URL}/_stats?scope={self.scope}").json()["effects"]


@pytest.fixture
def ackdrop(worker_id):
    return Ackdrop(worker_id)
