"""Who gets in: a link is good once, a token can be pasted, and the end of a session is said plainly."""

from playwright.sync_api import Browser, expect

from tests.browser.dashboard.site import Site
from tests.browser.dashboard.visitor import Visitor


def test_a_link_signs_in_once_and_leaves_no_code_behind(browser: Browser, site: Site) -> None:
    link = site.link()
    with Visitor(browser, site.url) as first, Visitor(browser, site.url) as second:
        first.enter(link)
        expect(first.page.locator("h1")).to_have_text("Overview")
        assert first.hash() == ""
        second.page.goto(link)
        expect(second.page.get_by_role("alert")).to_contain_text("muster open")
        assert second.hash() == ""
        expect(second.page.get_by_label("Or paste a token")).to_be_visible()
        assert first.errors == second.errors == []


def test_the_session_is_kept_from_scripts_and_from_other_sites(visitor: Visitor) -> None:
    (cookie,) = visitor.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    assert visitor.page.evaluate("() => document.cookie") == ""


def test_who_is_not_signed_in_is_asked_to_and_then_sees_the_page_that_was_wanted(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url) as visitor:
        visitor.page.goto(f"{site.url}/nodes")
        visitor.page.get_by_label("Or paste a token").fill(site.token("mia", "research"))
        visitor.page.get_by_role("button", name="Sign in").click()
        expect(visitor.page.locator("h1")).to_have_text("Nodes")
        expect(visitor.page.locator("header")).to_contain_text("mia")


def test_a_wrong_token_is_refused_and_said_so(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url) as visitor:
        visitor.page.goto(f"{site.url}/sign-in")
        visitor.page.get_by_label("Or paste a token").fill("muster_000000000000_" + "x" * 43)
        visitor.page.get_by_role("button", name="Sign in").click()
        expect(visitor.page.get_by_role("alert")).to_contain_text("token")
        assert visitor.cookies() == []


def test_signing_out_ends_the_session_for_good(visitor: Visitor) -> None:
    kept = visitor.page.evaluate("() => localStorage.getItem('muster.page')")
    visitor.page.get_by_role("button", name="Sign out").click()
    expect(visitor.page.locator("h1")).to_have_text("Sign in to Muster")
    assert visitor.cookies() == []
    visitor.page.evaluate("half => localStorage.setItem('muster.page', half)", kept)
    visitor.page.goto(visitor.url)
    expect(visitor.page.get_by_text("Your session has ended")).to_be_visible()


def test_a_session_whose_token_was_revoked_ends_while_one_looks_and_says_so(browser: Browser, site: Site) -> None:
    secret = site.token("noa", "research")
    with Visitor(browser, site.url) as visitor:
        visitor.paste(secret)
        visitor.open("/jobs")
        visitor.is_live()
        token = next(each.id for each in site.client.tokens() if each.name == "noa")
        site.client.revoke_token(token)
        site.submit("news")
        expect(visitor.page.get_by_text("Your session has ended")).to_be_visible()
        visitor.page.get_by_label("Or paste a token").fill(site.token("noa-again", "research"))
        visitor.page.get_by_role("button", name="Sign in").click()
        expect(visitor.page.locator("h1")).to_have_text("Jobs")
        assert visitor.errors == []


def test_nobody_is_led_to_another_site_after_signing_in(browser: Browser, site: Site) -> None:
    for wanted in ("//evil.example/", "https://evil.example/", "/\\evil.example", "javascript:alert(1)"):
        with Visitor(browser, site.url) as visitor:
            visitor.page.goto(f"{site.url}/sign-in?next={wanted}")
            visitor.page.get_by_label("Or paste a token").fill(site.token(f"t{abs(hash(wanted))}", "research"))
            visitor.page.get_by_role("button", name="Sign in").click()
            expect(visitor.page.locator("h1")).to_have_text("Overview")
            assert (visitor.foreign, visitor.errors) == ([], [])


def test_a_link_that_is_pasted_over_the_page_for_signing_in_works(browser: Browser, site: Site) -> None:
    with Visitor(browser, site.url) as visitor:
        visitor.page.goto(f"{site.url}/sign-in")
        expect(visitor.page.locator("h1")).to_have_text("Sign in to Muster")
        visitor.enter(site.link())
        expect(visitor.page.locator("h1")).to_have_text("Overview")


def test_nothing_is_left_of_what_one_user_has_seen_when_another_signs_in_in_the_same_tab(
    browser: Browser, site: Site
) -> None:
    theirs = site.submit("of-research")
    with Visitor(browser, site.url) as visitor:
        visitor.paste(site.token("rita", "research"))
        jobs = visitor.page.get_by_role("link", name="Jobs", exact=True)
        jobs.click()
        expect(visitor.seen("job-row", job=theirs)).to_be_visible()
        visitor.page.get_by_role("button", name="Sign out").click()
        visitor.page.get_by_label("Or paste a token").fill(site.token("vic", "vision"))
        visitor.page.get_by_role("button", name="Sign in").click()
        visitor.is_live()
        expect(visitor.page.locator("header .who")).to_have_text("vic")
        jobs.click()
        expect(visitor.page.get_by_text("No job runs or waits.")).to_be_visible()
        assert theirs not in visitor.page.content()


def test_signing_out_in_one_tab_ends_the_session_in_all(visitor: Visitor, site: Site) -> None:
    other = visitor.page.context.new_page()
    other.goto(f"{site.url}/cluster")
    expect(other.get_by_test_id("connection")).to_have_text("live")
    visitor.page.get_by_role("button", name="Sign out").click()
    expect(other.get_by_text("Your session has ended")).to_be_visible()
    other.get_by_label("Or paste a token").fill(site.token("ada", "research"))
    other.get_by_role("button", name="Sign in").click()
    expect(other.locator("h1")).to_have_text("Cluster")


def test_a_tab_becomes_that_of_who_signs_in_in_another(browser: Browser, site: Site) -> None:
    theirs = site.submit("of-research")
    with Visitor(browser, site.url) as visitor:
        visitor.paste(site.token("rita-again", "research"))
        visitor.open("/jobs")
        expect(visitor.seen("job-row", job=theirs)).to_be_visible()
        other = visitor.page.context.new_page()
        other.goto(f"{site.url}/sign-in")
        other.get_by_label("Or paste a token").fill(site.token("vic-again", "vision"))
        other.get_by_role("button", name="Sign in").click()
        expect(visitor.page.locator("header .who")).to_have_text("vic-again")
        expect(visitor.seen("job-row", job=theirs)).to_have_count(0)
