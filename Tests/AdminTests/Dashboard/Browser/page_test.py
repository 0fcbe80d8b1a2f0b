"""The dashboard of `carillon admin`, used as an on-call engineer uses it. PageTests.swift starts the servers and runs:

    page_test.py SCENARIO      with a JSON object on standard input: url, and tokens by scope

CARILLON_TEST_SCREENSHOTS=FOLDER saves a screenshot of every page of the scenario `looks`.
"""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import re
import sys
import threading
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from watched import DESK, PHONE, Visit, chromium

WORLD = json.load(sys.stdin)
URL, TOKENS = WORLD["url"], WORLD["tokens"]
NUMBER = re.compile(r"\d")


def dialog(page):
    return page.get_by_role("dialog")


def state(page, id):
    return page.locator(".head .pill", has_text=re.compile(".")).first


def answer(visit, id):
    status, text = visit.ask("GET", "/campaigns/" + id)
    assert status == 200, text
    return json.loads(text)


# ---- Scopes


def scopes(browser):
    visit = Visit(browser, URL)
    page = visit.page
    visit.open()
    page.get_by_label("Token").fill("carillon_nobody")
    page.get_by_role("button", name="Sign in").last.click()
    expect(dialog(page)).to_contain_text("the access token is unknown")
    # Without a token, the page only shows that it needs one, and it does not repeat requests.
    page.keyboard.press("Escape")
    expect(page.locator("main")).to_contain_text("carillon admin token NAME --scope view")
    visit.close()

    places = ["", "campaigns", "campaigns/slow-news", "compose", "workers", "quarantine", "dead", "audit"]
    for scope in ["view", "submit,view", "operate,view", "admin"]:
        visit = Visit(browser, URL)
        page = visit.page
        visit.sign_in(TOKENS[scope])
        words = set(scope.split(","))
        expect(page.locator("#holder .soft")).to_have_text(re.compile(", ".join(w for w in ["view", "submit", "operate", "admin"] if w in words)))
        everything = "admin" in words
        for place in places:
            visit.open(place)
            expect(page.locator("main h1")).to_be_visible()
            expect(page.locator("main")).not_to_contain_text("Loading …")
            if place == "audit" and not everything:
                expect(page.get_by_role("alert")).to_contain_text("lacks the scope admin")
            else:
                expect(page.locator("main .note-box.bad[role=alert]")).to_have_count(0)
        visit.open("campaigns/slow-news")
        expect(page.get_by_role("button", name="Cancel")).to_be_enabled(enabled=everything or "operate" in words)
        visit.open("compose")
        expect(page.get_by_role("button", name="Send …")).to_be_enabled(enabled=everything or "submit" in words)
        # The server itself refuses every operation whose description names another scope.
        refused = 0
        for method, path, needed in operations(visit):
            if everything or needed in words:
                continue
            status, text = visit.ask(method, path, None if method == "GET" else "{}")
            assert status == 403 and f"lacks the scope {needed}" in text, f"{scope}: {method} {path}: {status} {text}"
            refused += 1
        assert refused == 0 if everything else refused > 5, f"{scope}: {refused}"
        # After the sign-out, the session storage is empty.
        page.get_by_role("button", name="Sign out").click()
        expect(dialog(page)).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        visit.close()

    # Behind a proxy with a path prefix, the page sends its requests below the prefix, with or without a final slash.
    with proxy("/fleet/push") as root:
        for place in ["/fleet/push/", "/fleet/push"]:
            visit = Visit(browser, root)
            visit.page.goto(f"{root}{place}#/campaigns")
            visit.page.get_by_label("Token").fill(TOKENS["view"])
            visit.page.keyboard.press("Enter")
            expect(visit.page.locator("main")).to_contain_text("slow-news")
            visit.close()


@contextlib.contextmanager
def proxy(prefix):
    """A proxy that removes a prefix from the path. Other paths don't exist."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path.rstrip("/") != prefix and not self.path.startswith(prefix + "/"):
                self.send_error(404)
                return
            server = http.client.HTTPConnection(urllib.parse.urlsplit(URL).netloc, timeout=30)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
            server.request("GET", self.path[len(prefix) :] or "/", headers=headers)
            answer = server.getresponse()
            body = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("connection", "transfer-encoding", "content-length", "date"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            server.close()

        def log_message(self, *words):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def operations(visit):
    """Returns the method, path and scope of each operation in the description."""
    status, text = visit.ask("GET", "/openapi.json")
    assert status == 200
    for path, methods in json.loads(text)["paths"].items():
        place = re.sub(r"\{key\}", "1-1", path.removeprefix("/api/v1"))
        for method, operation in methods.items():
            if operation["x-scope"]:
                yield method.upper(), re.sub(r"\{\w+\}", "nobody", place), operation["x-scope"]


# ---- On-call engineer, with the mouse


def operate(browser):
    visit = Visit(browser, URL)
    page = visit.page
    visit.sign_in(TOKENS["operate,view"])
    expect(page.locator("main")).to_contain_text("wrong-environment has paused itself")

    # The page updates the progress with the speed and the remaining time.
    page.get_by_role("link", name="slow-news").first.click()
    pill = state(page, "slow-news")
    expect(pill).to_have_text("active")
    for _ in range(2):
        seen = page.locator(".big").inner_text()
        expect(page.locator(".big")).not_to_have_text(seen)
    expect(page.locator("svg.chart")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("Finished in about")

    pause = page.get_by_role("button", name="Pause")
    pause.click()
    expect(dialog(page)).to_contain_text(re.compile(r"Pause slow-news\?.*\d+ of (about )?\d+ targets have an outcome"))
    page.get_by_role("button", name="Back").click()
    expect(pause).to_be_focused()
    assert answer(visit, "slow-news")["state"] == "active"
    pause.click()
    dialog(page).get_by_role("button", name="Pause").click()
    expect(pill).to_have_text("paused")
    assert answer(visit, "slow-news")["state"] == "paused"
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(dialog(page)).to_contain_text(re.compile(r"\d+ targets are left"))
    dialog(page).get_by_role("button", name="Resume").click()
    expect(pill).to_have_text("active")
    seen = page.locator(".big").inner_text()
    expect(page.locator(".big")).not_to_have_text(seen)

    page.get_by_role("button", name="Cancel").click()
    expect(dialog(page)).to_contain_text(re.compile(r"About \d+ targets get no push\. This can't be undone"))
    dialog(page).get_by_role("button", name=re.compile(r"Cancel, \d+ get no push")).click()
    expect(pill).to_have_text("cancelled")
    expect(page.locator("main")).to_contain_text("Cancelled")
    ended = answer(visit, "slow-news")
    assert ended["state"] == "cancelled" and ended["outcomes"]["cancelled"] > 0, ended
    # The buttons have disappeared, and the heading has the focus.
    expect(page.get_by_role("heading", name="slow-news")).to_be_focused()

    # The page shows why the guard has paused a campaign, and the hint.
    visit.open("campaigns/wrong-environment")
    expect(page.get_by_role("alert")).to_contain_text("probably the wrong environment for app news")
    page.get_by_role("button", name="Resume unguarded").click()
    expect(dialog(page)).to_contain_text("Do this only if the answers are right")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Resume unguarded")).to_be_focused()
    assert answer(visit, "wrong-environment")["state"] == "paused"

    # A recurring campaign shows its open runs. Its resume names each paused run with the reason.
    visit.open("campaigns/digest")
    expect(pill).to_have_text("scheduled")
    run = answer(visit, "digest")["repeat"]["open"][0]["id"]
    runs = page.locator("dl.facts").first
    expect(runs).to_contain_text(re.compile(re.escape(run) + r": active, \d+ of \d+ targets have an outcome"))
    status, text = visit.ask("POST", f"/campaigns/{run}/pause", json.dumps({"reason": "wrong text"}))
    assert status == 200, text
    expect(runs).to_contain_text(re.compile(re.escape(run) + ": paused, .*; wrong text"))
    page.get_by_role("button", name="Pause").click()
    dialog(page).get_by_role("button", name="Pause").click()
    expect(pill).to_have_text("paused")
    page.get_by_role("button", name="Resume", exact=True).click()
    expect(dialog(page)).to_contain_text(f"The run {run} continues too. Reason for its pause: wrong text")
    dialog(page).get_by_role("button", name="Resume").click()
    expect(pill).to_have_text("scheduled")
    expect(runs).to_contain_text(run + ": active")
    page.get_by_role("link", name=run).click()
    expect(page.get_by_role("heading", name=run)).to_be_visible()
    expect(pill).to_have_text("active")

    # The overview has a tile for campaigns that wait for approval, and lists them with the schedule.
    visit.open("")
    expect(page.locator(".tile").filter(has_text="Approval")).to_contain_text("1 urgent")
    expect(page.get_by_role("row", name=re.compile("^everybody.*waits for approval"))).to_be_visible()

    # The page of a campaign shows that it needs approval.
    visit.open("campaigns/everybody")
    expect(page.get_by_role("alert")).to_contain_text("approv")

    # A dead job is shown completely, copied, and retried, because its segment exists now.
    page.get_by_role("link", name=re.compile("Dead jobs")).click()
    row = page.get_by_role("row", name=re.compile("^Choose repaired"))
    expect(row).to_contain_text("there is no segment 'later'")
    row.get_by_role("button", name="Show").click()
    expect(dialog(page)).to_contain_text('"segment": "later"')
    dialog(page).get_by_role("button", name="Copy").click()
    expect(page.locator("#toasts")).to_contain_text("Copied")
    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["id"] == "repaired"
    dialog(page).get_by_role("button", name="Close").click()
    expect(row.get_by_role("button", name="Show")).to_be_focused()
    row.get_by_role("checkbox").check()
    page.get_by_role("button", name="Retry 1").click()
    dialog(page).get_by_role("button", name="Retry 1").click()
    expect(page.locator("#toasts")).to_contain_text("Retry: 1 done")
    expect(page.get_by_role("row", name=re.compile("^Choose repaired"))).to_have_count(0)
    # A job that would fail again stays in the list, and the page shows the reason.
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Retry 1").click()
    dialog(page).get_by_role("button", name="Retry 1").click()
    expect(page.locator("#toasts")).to_contain_text("not valid JSON")
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Drop 1").click()
    dialog(page).get_by_role("button", name="Drop 1").click()
    expect(page.locator("main")).to_contain_text("The dead list is empty")
    visit.open("campaigns/repaired")
    expect(state(page, "repaired")).to_have_text("completed")

    # One action releases several devices of the quarantine.
    visit.open("quarantine")
    expect(page.locator("tbody tr")).to_have_count(3)
    page.get_by_label("All of this page").check()
    page.get_by_role("button", name="Release 3").click()
    expect(dialog(page)).to_contain_text("Release 3 devices?")
    dialog(page).get_by_role("button", name="Release 3").click()
    expect(page.locator("main")).to_contain_text("No device is in quarantine")

    # The page downloads results as a file.
    visit.open("campaigns/spring-sale")
    with page.expect_download() as download:
        page.get_by_role("button", name="Failures").click()
    lines = pathlib.Path(download.value.path()).read_text().splitlines()
    assert len(lines) == 3 and all(json.loads(line)["outcome"] == "badToken" for line in lines), lines

    # A person other than the submitter approves a large campaign, and sees the estimate, the text and the audience.
    visit.open("campaigns/everybody")
    page.get_by_role("button", name="Approve").click()
    pushes = answer(visit, "everybody")["estimate"]
    for shown in [f"Estimate: {pushes} pushes.", "above 800", "Text: hi", 'Audience: {"segment":"*"}']:
        expect(dialog(page)).to_contain_text(shown)
    dialog(page).get_by_role("button", name=f"Approve {pushes} pushes").click()
    expect(page.locator("#toasts")).to_contain_text("everybody is approved")
    assert answer(visit, "everybody")["approvedBy"] == "operator"

    # The audit log has each action under the name of its token.
    status, text = visit.ask("GET", "/audit", token=TOKENS["admin"])
    done = [(entry["actor"], entry["action"]) for entry in json.loads(text)["entries"]]
    for action in ["campaign.pause", "campaign.resume", "campaign.cancel",
                   "campaign.approve", "dead.retry", "dead.drop", "quarantine.release"]:
        assert ("operator", action) in done, f"{action} is not in {done}"
    visit.close()


# ---- Author of a campaign, with the keyboard alone


def compose(browser):
    visit = Visit(browser, URL)
    page = visit.page
    visit.open()
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(TOKENS["submit,view"])
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_contain_text("Running")
    # The first element in the Tab order skips the navigation.
    page.reload()
    expect(page.locator("main")).to_contain_text("Running")
    assert visit.tab_to("Skip to the content", most=1)
    page.keyboard.press("Tab")
    visit.tab_to("Compose")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compose")).to_be_visible()
    expect(page.get_by_label("App", exact=True)).to_have_value("news")

    def fill(label, text):
        visit.tab_to(label)
        page.keyboard.type(text)

    fill("Id", "by-keyboard")
    visit.tab_to("App")
    fill("Audience", "")
    page.keyboard.press("Control+a")
    page.keyboard.type("vip & *")
    fill("Where", "plan = 'gold'")
    fill("Title", "Hello {{name|you}}")
    fill("Text", "It rings, typed.")
    visit.tab_to("Lane")
    page.keyboard.press("ArrowUp")
    fill("User", "u0")
    page.keyboard.press("Enter")
    expect(page.locator(".push .title")).to_have_text("Hello Ada")
    visit.tab_to("The job, as JSON")
    job = json.loads(page.get_by_label("The job, as JSON").input_value())
    assert job == {
        "id": "by-keyboard", "app": "news", "audience": {"segment": "vip & *", "where": "plan = 'gold'"}, "lane": "urgent",
        "message": {"title": "Hello {{name|you}}", "body": "It rings, typed.", "sound": "default"},
    }, job

    # The page shows each error at its place, and sends nothing.
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(json.dumps({**job, "message": {"body": "x", "bagde": 1}, "prioriti": 5}))
    visit.tab_to("Check and count")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict").last).to_contain_text("prioriti")
    visit.tab_to("Send …")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict").last).to_contain_text("prioriti")
    expect(dialog(page)).to_be_hidden()

    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert visit.focus()["id"] == "job"
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(json.dumps(job))
    visit.tab_to("Check and count")
    page.keyboard.press("Enter")
    expect(page.locator(".verdict").last).to_contain_text("40 pushes to 40 users")
    visit.tab_to("Send …")
    page.keyboard.press("Enter")
    expect(dialog(page)).to_contain_text("40 pushes to 40 users of the app news")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Send …")).to_be_focused()
    page.keyboard.press("Enter")
    visit.tab_to("Send 40")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="by-keyboard")).to_be_visible()
    expect(state(page, "by-keyboard")).to_have_text("completed")
    expect(page.locator(".big")).to_have_text("40")
    # The id is now in use: the same job changes nothing, and a different job is refused.
    status, text = visit.ask("POST", "/campaigns", json.dumps(job))
    assert status == 200 and json.loads(text)["duplicate"], text
    status, text = visit.ask("POST", "/campaigns", json.dumps({**job, "urgency": "normal"}))
    assert status == 409, text
    visit.close()


# ---- Appearance


def looks(browser):
    folder = os.environ.get("CARILLON_TEST_SCREENSHOTS")
    places = [
        ("", "overview"), ("campaigns", "campaigns"), ("campaigns/spring-sale", "completed"),
        ("campaigns/running", "running"), ("campaigns/wrong-environment", "paused"), ("campaigns/everybody", "approval"),
        ("campaigns/next-week", "scheduled"), ("campaigns/digest", "recurring"), ("campaigns/none-such", "missing"), ("compose", "compose"),
        ("workers", "workers"), ("quarantine", "quarantine"), ("dead", "dead"), ("audit", "audit"), ("nowhere", "nowhere"),
    ]
    found = []
    kinds = {"light": {**DESK, "color_scheme": "light"}, "dark": {**DESK, "color_scheme": "dark"}, "phone": PHONE}
    for kind, options in kinds.items():
        visit = Visit(browser, URL, **options)
        page = visit.page
        visit.open()
        expect(dialog(page)).to_be_visible()
        found += judge(page, kind, "sign-in", folder)
        visit.sign_in(TOKENS["admin"])
        for place, name in places:
            visit.open(place)
            expect(page.locator("main h1, main .note-box.bad").first).to_be_visible()
            expect(page.locator("main")).not_to_contain_text("Loading …")
            if name == "running":
                expect(page.locator("svg.chart")).to_be_visible()
            if name == "compose":
                page.get_by_label("Id", exact=True).fill("spring-sale-2")
                page.get_by_label("Title").fill("Hi {{name|there}}")
                page.get_by_label("Text").fill("Everything must go: 40 % off until Sunday.")
                page.get_by_placeholder("a user's id").fill("u0")
                page.get_by_role("button", name="Preview for this user").click()
                page.get_by_role("button", name="Check and count").click()
                expect(page.locator(".verdict").last).to_contain_text(re.compile(r"\d+ pushes to \d+ users"))
                expect(page.locator(".push")).to_be_visible()
            found += judge(page, kind, name, folder)
        visit.open("campaigns/running")
        page.get_by_role("button", name="Cancel").click()
        found += judge(page, kind, "question", folder)
        visit.close()
    assert not found, "\n".join(found)


def huge(browser):
    """With 10,000 campaigns and 500 workers, every page is as fast and small as with ten, and has links to the rest."""
    folder = os.environ.get("CARILLON_TEST_SCREENSHOTS")
    found = []
    for kind, options in {"huge": DESK, "huge-dark": {**DESK, "color_scheme": "dark"}, "huge-phone": PHONE}.items():
        visit = Visit(browser, URL, **options)
        page = visit.page
        visit.sign_in(TOKENS["view"])
        expect(page.locator("ul.tiles")).to_contain_text("501")
        found += judge(page, kind, "overview", folder)
        visit.open("workers")
        expect(page.locator("main")).to_contain_text("50 of 501")
        page.get_by_role("button", name="Show more").click()
        expect(page.locator("tbody tr")).to_have_count(100)
        found += judge(page, kind, "workers", folder)
        visit.open("campaigns?state=failed")
        expect(page.locator("tbody tr")).to_have_count(50)
        first = page.locator("tbody tr").first.inner_text()
        page.get_by_role("link", name="Older").click()
        expect(page.locator("tbody tr").first).not_to_have_text(first)
        expect(page.locator("tbody tr")).to_have_count(50)
        found += judge(page, kind, "campaigns", folder)
        nodes = page.evaluate("document.querySelectorAll('*').length")
        assert nodes < 2500, f"{nodes} elements for 50 campaigns"
        visit.close()
    assert not found, "\n".join(found)


# The rules of axe whose result depends on colours. For a dark page they are enough: it has the elements of a light one.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}}


def judge(page, kind, name, folder):
    """Returns the findings of axe, and any element that is wider than the window."""
    page.evaluate("document.fonts.ready")
    if folder:
        page.screenshot(path=os.path.join(folder, f"{kind}-{name}.png"), full_page="question" != name != "sign-in")
    # axe runs in the debugger, because the content security policy of the page does not apply there.
    found = [
        f"{kind} {name}: {violation['impact']} {violation['id']}: {violation['help']}: "
        + "; ".join(str(node["target"]) for node in violation["nodes"][:3])
        for violation in Axe().run(page, options=COLOURS if "dark" in kind else None).response["violations"]
    ]
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if wide > 0:
        found.append(f"{kind} {name}: {wide} pixels wider than the window")
    return found


if __name__ == "__main__":
    with chromium() as browser:
        {"scopes": scopes, "operate": operate, "compose": compose, "looks": looks, "huge": huge}[sys.argv[1]](browser)
    print("ok", sys.argv[1])
