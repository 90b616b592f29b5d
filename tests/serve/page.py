# SPDX-License-Identifier: MIT
"""page.py CKE MODEL FOLDER [SEEING IMAGES]: the page in headless Chromium, as a person uses it; screenshots go to FOLDER.
SEEING is a model that sees images, and is shown two of the folder IMAGES.

For development: needs Debian's chromium and chromium-driver, and the PyPI package selenium."""
import base64
import sys
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from harness import serving


def browser(dark: bool, width: int) -> webdriver.Chrome:
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},860", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return driver


def use(driver: webdriver.Chrome, url: str, shot: Path) -> None:
    find = lambda css: driver.find_element(By.CSS_SELECTOR, css)
    wait = lambda condition: WebDriverWait(driver, 20, poll_frequency=0.02).until(lambda _: condition())
    idle = lambda: find("#send").is_displayed()

    driver.get(url)
    wait(lambda: find("#facts").text)
    assert "qwen3" in find("#facts").text and driver.title.startswith("tiny")
    assert "Memory plan" in find("#memory svg").get_attribute("aria-label")
    for box in driver.find_elements(By.CSS_SELECTOR, "input, textarea"):
        named = box.get_attribute("aria-label") or driver.execute_script("return arguments[0].labels.length == 1", box)
        assert named, box.get_attribute("id")

    # The whole conversation by keyboard.
    assert driver.switch_to.active_element == find("#text")
    find("#temperature").clear(), find("#temperature").send_keys("0")
    for question in ("What can you tell me about the sea?", "Mia has a red ball. Tom has a blue kite. What colour is the ball?"):
        find("#text").send_keys(question, Keys.ENTER)
        wait(lambda: "tokens" in find(".assistant:last-child .note").text and idle())
    answers = [a.text for a in driver.find_elements(By.CSS_SELECTOR, ".assistant > .text")]
    assert answers[0].startswith("The sea is blue") and answers[1].endswith("."), answers
    assert driver.find_elements(By.CSS_SELECTOR, "details.thought"), "no thought is shown"
    assert find("#spoken").get_attribute("textContent") == answers[1]
    assert "tokens/s" in find(".note").text
    driver.save_screenshot(str(shot))

    # Stop, in the middle of an answer that would be long.
    driver.execute_cdp_cmd("Network.enable", {})
    slow = {"offline": False, "latency": 0, "uploadThroughput": -1}
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", slow | {"downloadThroughput": 3000})
    find("#text").send_keys("Tell me a story", Keys.ENTER)
    wait(lambda: find("#stop").is_displayed() and len(find(".assistant:last-child").get_attribute("textContent")) > 20)
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    wait(lambda: find(".assistant:last-child .note").text == "Stopped." and idle())
    driver.execute_cdp_cmd("Network.emulateNetworkConditions", slow | {"downloadThroughput": -1})
    # What the server refuses is said.
    find("#temperature").clear(), find("#temperature").send_keys("-1")
    find("#text").send_keys("x", Keys.ENTER)
    wait(lambda: "temperature" in find(".assistant:last-child .error").text)
    find("#clear").click()
    assert "Say something" in find("#log").text

    asked = [e for e in driver.get_log("performance") if '"Network.requestWillBeSent"' in e["message"] and '"url":"http' in e["message"]]
    assert asked and all(f'"url":"{url}' in e["message"] for e in asked), "a request to somebody else"
    wrong = [e for e in driver.get_log("browser") if e["level"] != "DEBUG" and "400 (Bad Request)" not in e["message"]]
    assert not wrong, wrong


# Drops or pastes a file on the page, as a person would.
GIVE = """
const [how, name, data] = arguments, bytes = Uint8Array.from(atob(data), c => c.charCodeAt(0)), given = new DataTransfer();
given.items.add(new File([bytes], name, {type: "image/png"}));
if (how === "paste") document.dispatchEvent(new ClipboardEvent("paste", {clipboardData: given, bubbles: true, cancelable: true}));
else for (const kind of ["dragenter", "dragover", "drop"])
  document.querySelector("#log").dispatchEvent(new DragEvent(kind, {dataTransfer: given, bubbles: true, cancelable: true}));
"""


def look(driver: webdriver.Chrome, url: str, images: Path, shot: Path) -> None:
    find = lambda css: driver.find_element(By.CSS_SELECTOR, css)
    every = lambda css: driver.find_elements(By.CSS_SELECTOR, css)
    wait = lambda condition: WebDriverWait(driver, 20, poll_frequency=0.02).until(lambda _: condition())
    files = sorted(images.glob("*.png"))
    give = lambda how, file: driver.execute_script(GIVE, how, file.name, base64.b64encode(file.read_bytes()).decode())
    loaded = lambda css: all(driver.execute_script("return arguments[0].complete && arguments[0].naturalWidth > 0", i) for i in every(css))

    driver.get(url)
    wait(lambda: find("#attach").is_displayed())
    find("#max_completion_tokens").send_keys("12")
    give("drop", files[0])
    wait(lambda: len(every("#chosen img")) == 1)
    give("paste", files[1])
    wait(lambda: len(every("#chosen img")) == 2)
    find("#files").send_keys(str(files[0].resolve()))
    wait(lambda: len(every("#chosen img")) == 3)
    every("#chosen button")[2].click()
    wait(lambda: len(every("#chosen img")) == 2 and loaded("#chosen img"))
    find("#text").send_keys("what is this")
    driver.save_screenshot(str(shot.with_stem(shot.stem + "-chosen")))
    find("#text").send_keys(Keys.ENTER)
    wait(lambda: every(".assistant .note") and "token" in find(".assistant:last-child .note").text and find("#send").is_displayed())
    assert not every(".assistant .error"), find(".assistant .error").text
    assert len(every(".user .pictures img")) == 2 and loaded(".user img") and find("#chosen").is_displayed() is False
    # An image alone, and the conversation before it goes along.
    give("drop", files[-1])
    wait(lambda: every("#chosen img"))
    find("#text").send_keys(Keys.ENTER)
    wait(lambda: len(every(".assistant .note")) == 2 and "token" in every(".assistant .note")[1].text and find("#send").is_displayed())
    assert not every(".assistant .error"), find(".assistant .error").text
    driver.save_screenshot(str(shot))
    find("#clear").click()
    assert not every(".user")
    wrong = [e for e in driver.get_log("browser") if e["level"] != "DEBUG"]
    assert not wrong, wrong


def main(command: str, model: str, folder: str, seeing: str = "", images: str = "") -> None:
    with serving(command, model) as server:
        for dark, width in ((False, 1280), (True, 1280), (False, 420)):
            driver = browser(dark, width)
            try:
                use(driver, server.url, Path(folder) / f"page-{'dark' if dark else 'light'}-{width}.png")
            finally:
                driver.quit()
    if seeing:
        with serving(command, seeing) as server:
            for dark, width in ((False, 1280), (True, 1280), (False, 420)):
                driver = browser(dark, width)
                try:
                    look(driver, server.url, Path(images), Path(folder) / f"images-{'dark' if dark else 'light'}-{width}.png")
                finally:
                    driver.quit()
    print("the page answers, stops and complains" + ", and takes images" * bool(seeing))


if __name__ == "__main__":
    main(*sys.argv[1:])
