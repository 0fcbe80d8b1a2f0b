"""A monitored Chromium. The test fails if a page does anything that is not allowed."""

import contextlib
import os
import re
import shutil

from playwright.sync_api import expect, sync_playwright

# Chromium's message for an answer that is not a success. The test decides whether the answer was right.
ANSWER = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
DESK = {"viewport": {"width": 1360, "height": 900}}

expect.set_options(timeout=60_000)


@contextlib.contextmanager
def chromium():
    with sync_playwright() as playwright:
        # Chromium has no sandbox for root; /dev/shm is small in containers.
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM")
            or shutil.which("chromium-headless-shell")
            or shutil.which("chromium"),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A tab with its own profile. `close` fails if the page did anything that is not allowed."""

    def __init__(self, browser, url, **options):
        self.url = url
        self.complaints = []
        self.context = browser.new_context(locale="en-GB", **(options or DESK))
        self.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=url)
        self.context.add_init_script(
            "addEventListener('securitypolicyviolation', (event) =>"
            " console.error('policy: ' + event.violatedDirective + ' ' + event.blockedURI));"
        )
        # The page may load slowly beside the other tests.
        self.context.set_default_timeout(120_000)
        self.page = self.context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        self.page.on("request", self._request)
        self.page.on("response", self._response)

    def _console(self, message):
        if message.type in ("error", "warning") and not ANSWER.match(message.text):
            self.complaints.append(f"console: {message.text}")

    def _request(self, request):
        if not request.url.startswith((self.url + "/", "data:", "blob:" + self.url)):
            self.complaints.append(f"asked elsewhere: {request.url}")

    def _response(self, response):
        if response.status >= 500:
            self.complaints.append(f"{response.status} from {response.url}")

    def open(self, place=""):
        self.page.goto(f"{self.url}/#/{place}")

    def sign_in(self, token, place=""):
        self.open(place)
        self.page.get_by_label("Token").fill(token)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("#holder")).to_be_visible()

    def ask(self, method, path, body=None, token=None):
        """Sends a request from the page, independent of its buttons. Returns the status and the text."""
        return self.page.evaluate(
            """async ([method, path, body, token]) => {
              const headers = { authorization: "Bearer " + (token || sessionStorage.getItem("carillon.token")) };
              const answer = await fetch("/api/v1" + path, { method, body: body ?? undefined, headers });
              return [answer.status, await answer.text()];
            }""",
            [method, path, body, token],
        )

    def focus(self):
        """Returns the element with the focus, and whether the focus is visible."""
        return self.page.evaluate(
            """() => {
              const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
              // The middle of the visible part, below the fixed bar.
              const bar = element.closest("header, .skip, dialog") ? 0 : document.querySelector("header").getBoundingClientRect().bottom;
              const middle = document.elementFromPoint(box.left + box.width / 2, (Math.max(bar, box.top) + Math.min(innerHeight, box.bottom)) / 2);
              return {
                name: (element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent || "").trim().slice(0, 80),
                tag: element.tagName.toLowerCase(), id: element.id,
                shown: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
                seen: box.width > 0 && box.bottom > bar && box.top < innerHeight && (element === middle || element.contains(middle)),
              };
            }"""
        )

    def tab_to(self, name, most=80):
        """Moves the focus to an element with the Tab key alone. The focus must be visible at each step."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            focus = self.focus()
            if focus["tag"] == "body":
                continue
            assert focus["shown"], f"nobody sees the focus on {focus}"
            assert focus["seen"], f"what has the focus is out of sight: {focus}"
            if focus["name"] == name:
                return focus
        raise AssertionError(f"no {name!r} within {most} tabulators; the last was {focus}")

    def close(self):
        self.context.close()
        assert not self.complaints, "\n".join(self.complaints)
