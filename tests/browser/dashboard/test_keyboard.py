"""Without a mouse: keys lead from page to page, a help lists them, and the focus is where one reads."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor


def focused(visitor: Visitor) -> str:
    found: str = visitor.page.evaluate("() => document.activeElement.id || document.activeElement.tagName")
    return found


@pytest.mark.parametrize(
    ("letter", "heading"),
    [
        ("j", "Jobs"),
        ("c", "Cluster"),
        ("t", "Teams"),
        ("n", "Nodes"),
        ("s", "Submit"),
        ("w", "What-if"),
        ("a", "Audit"),
    ],
)
def test_g_and_a_letter_go_to_a_page_and_the_focus_goes_along(visitor: Visitor, letter: str, heading: str) -> None:
    visitor.page.keyboard.press("g")
    visitor.page.keyboard.press(letter)
    expect(visitor.page.locator("h1")).to_contain_text(heading)
    expect(visitor.page).to_have_title(f"{heading} · Muster")
    assert focused(visitor) == "page"


def test_a_slash_searches_and_what_is_typed_there_is_no_command(visitor: Visitor) -> None:
    visitor.page.keyboard.press("/")
    expect(visitor.page.locator("h1")).to_have_text("Jobs")
    visitor.page.keyboard.press("/")
    expect(visitor.page.locator("input[type=search]")).to_be_focused()
    visitor.page.keyboard.type("gn?")
    expect(visitor.page.locator("input[type=search]")).to_have_value("gn?")
    expect(visitor.page.locator("h1")).to_have_text("Jobs")
    expect(visitor.page.get_by_role("dialog")).to_have_count(0)


def test_a_question_mark_lists_the_keys_and_gives_the_focus_back(visitor: Visitor) -> None:
    theme = visitor.page.get_by_role("button", name="Dark")
    theme.focus()
    visitor.page.keyboard.press("?")
    help_ = visitor.page.get_by_role("dialog", name="Keys")
    expect(help_).to_contain_text("go to Cluster")
    visitor.page.keyboard.press("g")
    visitor.page.keyboard.press("c")
    expect(visitor.page.locator("h1")).to_have_text("Overview")
    visitor.page.keyboard.press("Escape")
    expect(help_).to_have_count(0)
    expect(theme).to_be_focused()


def test_a_question_mark_lists_the_keys_where_the_menu_is_closed_too(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url, width_px=390) as phone:
        phone.enter(site.link())
        phone.page.keyboard.press("?")
        expect(phone.page.get_by_role("dialog", name="Keys")).to_contain_text("go to Cluster")
        phone.page.keyboard.press("Escape")
        phone.page.get_by_role("button", name="Menu").click()
        phone.page.get_by_role("button", name="Keys").click()
        expect(phone.page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_first_tab_skips_to_the_page(visitor: Visitor) -> None:
    visitor.page.keyboard.press("Tab")
    expect(visitor.page.get_by_role("link", name="Skip to the page")).to_be_focused()
    visitor.page.keyboard.press("Enter")
    visitor.page.wait_for_function("() => document.activeElement.id === 'page'")


def test_the_theme_is_the_systems_until_one_chooses(browser: Browser, site: Site) -> None:
    shown = "() => document.documentElement.dataset.theme"
    with Visitor(browser, site.url, scheme="dark") as visitor:
        visitor.enter(site.link())
        assert visitor.page.evaluate(shown) == "dark"
        visitor.page.emulate_media(color_scheme="light")
        visitor.page.wait_for_function(f"() => ({shown})() === 'light'")
        visitor.page.get_by_role("button", name="Dark").click()
        visitor.page.emulate_media(color_scheme="light")
        visitor.page.reload()
        visitor.page.wait_for_function(f"() => ({shown})() === 'dark'")


def test_on_a_phone_the_pages_are_behind_a_button_and_nothing_is_wider_than_it(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url, width_px=390) as visitor:
        visitor.enter(site.link())
        nodes = visitor.page.get_by_role("link", name="Nodes", exact=True)
        expect(nodes).not_to_be_visible()
        visitor.page.get_by_role("button", name="Menu").click()
        nodes.click()
        expect(visitor.page.locator("h1")).to_have_text("Nodes")
        expect(nodes).not_to_be_visible()
        for place in ("/", "/cluster", "/jobs", "/nodes", "/teams", "/submit", "/what-if", "/audit"):
            visitor.open(place)
            visitor.is_live()
            too_wide = visitor.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
            assert too_wide <= 0, place
