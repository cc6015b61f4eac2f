"""The page to take part on the local network: that page alone, with a link that phones can open."""

from __future__ import annotations

import shutil
import socket
import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.collector.asking import serving
from tests.studio import qr
from tests.studio.running import PATIENCE, RunningStudio, running_studio
from tests.studio.test_take import AGES, added, answer, send, title

from confide.collector.stores import open_store
from confide.studio import sharing
from confide.studio.drafts import read_draft
from confide.studio.serving import Studio
from confide.studio.sharing import Certificate, Door, Links, TakePart, make_certificate

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    """A studio with `--share`."""
    with running_studio(tmp_path_factory.mktemp("shared") / "shared.db", "--share") as found:
        yield found


def test_only_what_people_need_is_shared(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "one.db"))) as store, serving(store) as served:
        served.app.guest = Studio(served.app.collector)
        token, inside = f"Bearer {served.tokens['administer']}", served.app
        survey = f"/v1/surveys/{served.survey.fingerprint}"
        studio = ["/studio", "/studio/", "/studio/studio.js", "/studio/studio.css", "/studio/v1/start"]
        studio += [f"/studio/v1/{what}/{served.survey.fingerprint}" for what in ("watch", "counts", "evidence")]
        curator = ["/", "/metrics", "/healthz", "/v1/surveys", f"{survey}/page", f"{survey}/counts", f"{survey}/close"]
        people = [f"/take/{served.survey.fingerprint}", "/take/take.js", "/take/take.css", "/client/confide.js", survey]
        assert {
            served.ask("GET", path, authorization=token).status for path in [*studio[:1], *curator[:3], *people]
        } == {200}
        served.app = TakePart(inside)  # type: ignore[assignment]
        for path in [
            *studio,
            *curator,
            "/take/studio.js",
            "/take/studio.html",
            "//studio",
            "/take/../studio",
            "/take/",
        ]:
            for method in ("GET", "HEAD", "POST", "OPTIONS"):
                said = served.ask(method, path, b"{}", content_type="application/json", authorization=token)
                assert said.status == 404, (method, path)
        assert {served.ask("GET", path).status for path in people} == {200}
        assert served.ask("POST", survey, b"{}", content_type="application/json", authorization=token).status == 404
        assert served.post(served.message([1, 2])).json["accepted"] == 2


def test_the_page_to_take_part_reads_no_file_of_the_studio(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "one.db"))) as store, serving(store) as served:
        served.app.guest = Studio(served.app.collector)
        own = {"/take/take.js": 200, "/studio/studio.js": 200, "/take/studio.js": 404, "/studio/take.js": 404}
        assert {path: served.ask("GET", path).status for path in own} == own


def bound(host: str) -> socket.socket:
    found = socket.socket()
    found.bind((host, 0))
    return found


def test_links_say_how_far_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "network_address", lambda: "192.168.1.7")
    with bound("127.0.0.1") as alone, bound("0.0.0.0") as everywhere:  # noqa: S104 - it is what we test
        assert Links.of(alone) == Links("", "", "192.168.1.7")
        port = everywhere.getsockname()[1]
        assert Links.of(everywhere) == Links("", f"http://192.168.1.7:{port}", "192.168.1.7")
        assert not Links.of(alone, "https://192.168.1.7:8443").record["is_alone"]
        monkeypatch.setattr(sharing, "network_address", lambda: "")
        assert Links.of(everywhere) == Links()
        assert Links.of(alone, "https://127.0.0.1:8443").record["is_alone"]


def test_a_machine_on_no_network_shares_with_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "network_address", lambda: "")
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    door = Door.open(tmp_path)
    with door.listening:
        assert door.certificate is None
        assert door.address.startswith("http://127.0.0.1:")
        with Door.open(tmp_path).listening as other:  # the next free port
            assert other.getsockname()[1] != door.listening.getsockname()[1]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_a_certificate_is_for_the_address_and_its_key_is_for_us(tmp_path: Path) -> None:
    made = make_certificate("192.168.1.7", tmp_path)
    assert isinstance(made, Certificate)
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert not (tmp_path / "key.pem").exists()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.path)
    read = ssl._ssl._test_decode_cert(str(tmp_path / "certificate.pem"))  # type: ignore[attr-defined]
    assert read["subjectAltName"] == (("IP Address", "192.168.1.7"),)
    assert len(made.digest.split(":")) == 32


def test_one_report_a_person_unless_the_draft_says_otherwise() -> None:
    table = {"kind": "integers", "low": 0, "high": 99}
    survey: dict[str, Any] = {"name": "age", "title": "Age", "alphabet": table}
    draft: dict[str, Any] = {"epsilon": 0.1, "people": 100}
    limits: list[dict[str, Any]] = [{}, {"limits": {}}, {"limits": {"reports": 3}}]
    most = [read_draft(draft | {"survey": survey | more}).survey.most_reports for more in limits]
    assert most == [1, None, 3]


@pytest.mark.slow
def test_the_shared_port_speaks_https_and_ends_with_the_studio(own_store: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with running_studio(own_store, "--share") as studio:
        address = studio.ask("/studio/v1/start").json["links"]["shared"]
        assert address.startswith("https://" if shutil.which("openssl") else "http://")
        with urllib.request.urlopen(f"{address}/take/take.js", timeout=PATIENCE, context=context) as said:  # noqa: S310
            assert said.status == 200
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}/studio", timeout=PATIENCE, context=context)  # noqa: S310 - as above
        assert studio.end() == 0
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(address, timeout=PATIENCE, context=context)  # noqa: S310 - as above
    assert own_store.with_suffix(".log").read_text() == ""


@pytest.mark.slow
def test_three_phones_open_what_the_code_says(shared: RunningStudio, browser: Browser) -> None:
    survey = added(shared, AGES).rpartition("/")[2]
    page = browser.new_page()
    page.goto(f"{shared.url}/studio#token={shared.token}")
    page.get_by_role("link", name="Look", exact=True).click()
    page.locator(f'[data-survey="{survey}"]').click()
    address = code_on(page)
    assert address == f"{shared.ask('/studio/v1/start').json['links']['shared']}/take/{survey}"
    assert page.locator(".empty .address").get_attribute("href") == address
    for age in (20, 40, 60):
        phone = browser.new_context(
            viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, ignore_https_errors=True
        )
        own = phone.new_page()
        own.goto(address)
        answer(own, age)
        send(own)
        title(own, "Sent")
        phone.close()
    page.locator(".live-count", has_text="3").wait_for()
    page.close()


@pytest.mark.slow
def test_a_link_of_this_machine_alone_is_warned_of(studio: RunningStudio, page: Page) -> None:
    survey = added(studio, AGES, title="Nobody answered").rpartition("/")[2]
    page.goto(studio.address)
    page.get_by_role("link", name="Look", exact=True).click()
    page.locator(f'[data-survey="{survey}"]').click()
    assert "works on this machine alone" in page.locator(".empty .reach").inner_text()
    assert "confide studio --share" in page.locator(".empty .reach").inner_text()
    assert code_on(page) == f"{studio.url}/take/{survey}"


def code_on(page: Page) -> str:
    """Return what a camera reads from the page."""
    code = page.locator(".empty svg.qr")
    code.wait_for()
    size = int((code.get_attribute("viewBox") or "").split()[-1])
    path = code.locator("path").get_attribute("d") or ""
    return qr.read(qr.modules_of(path, size))
