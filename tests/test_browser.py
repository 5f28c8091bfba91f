"""The page in a real browser: it draws, it obeys its controls, it fits a phone, it follows the colour scheme."""

import chromium
import pytest
import studies
from chromium import open_page
from studies import ALGORITHMS, DATASETS

from adasadmm.paper.report import write_page

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
pytestmark = [pytest.mark.slow, chromium.is_installed]
LINES = "return [...arguments[0].querySelectorAll('.scatterlayer path.js-line')].map(path => path.getAttribute('d'))"
NAMES = "return arguments[0].data.filter(one => one.mode === 'lines').map(one => one.meta)"
BEYOND = """
    const scrolled = [...document.querySelectorAll('.scroll')];
    const inside = one => scrolled.some(box => box !== one && box.contains(one)) || one.closest('svg, .unseen');
    return [...document.body.querySelectorAll('*')]
        .filter(one => !inside(one) && one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
        .map(one => one.outerHTML.slice(0, 120));
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    write_page(studies.study(), folder / "report.html")
    write_page(studies.hostile_study(), folder / "hostile.html")
    return folder


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium.started(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def browser(driver, pages):
    """The page opened at 1400 pixels, light; nothing may be said on the console until the test is over."""
    driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    set_scheme(driver, "light")
    open_page(driver, pages / "report.html", 1400)
    yield driver
    assert driver.get_log("browser") == []


def set_scheme(driver, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def all_of(driver, selector):
    return driver.find_elements("css selector", selector)


def click(driver, selector):
    (element,) = all_of(driver, selector)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()


def plots(driver):
    return [plot for plot in all_of(driver, ".plot") if plot.is_displayed()]


def full_layout(driver, plot, path):
    return driver.execute_script(f"return arguments[0]._fullLayout.{path}", plot)


def test_the_curves_are_drawn_one_for_each_algorithm(browser):
    drawn = plots(browser)
    assert len(drawn) == 2 * len(DATASETS)
    for plot in drawn:
        paths = browser.execute_script(LINES, plot)
        assert len(paths) == len(ALGORITHMS) and all(len(path) > 50 for path in paths)
        assert browser.execute_script(NAMES, plot) == list(ALGORITHMS)


def test_the_optimum_is_a_line_in_the_objective_alone(browser):
    for plot in plots(browser):
        lines = all_of(plot, ".shapelayer path")
        assert len(lines) == (plot.get_attribute("data-measure") == "objective")


def test_the_axis_can_be_seconds(browser):
    plot = plots(browser)[0]
    curve = "return arguments[0].data.at(-1).x.at(-1)"
    assert full_layout(browser, plot, "xaxis.title.text") == "epochs"
    assert browser.execute_script(curve, plot) == 2.0
    click(browser, "[data-axis=seconds]")
    assert full_layout(browser, plot, "xaxis.title.text").startswith("seconds")
    assert browser.execute_script(curve, plot) == pytest.approx(0.4, rel=0.06)
    assert all(len(browser.execute_script(LINES, plot)) == len(ALGORITHMS) for plot in plots(browser))


def test_the_scale_and_the_band_obey(browser):
    objective, error = plots(browser)[:2]
    assert full_layout(browser, objective, "yaxis.type") == "log"
    click(browser, "[data-scale=linear]")
    assert [full_layout(browser, plot, "yaxis.type") for plot in (objective, error)] == ["linear", "linear"]
    count = "return arguments[0].data.length"
    assert browser.execute_script(count, objective) == 2 * len(ALGORITHMS)
    click(browser, "[data-spread=mean]")
    assert browser.execute_script(count, objective) == len(ALGORITHMS)


def test_an_algorithm_can_be_hidden_and_shown(browser):
    plot = plots(browser)[0]
    click(browser, "input[data-algorithm=ada-diag]")
    assert len(browser.execute_script(LINES, plot)) == len(ALGORITHMS) - 1
    assert "ada-diag" not in browser.execute_script(NAMES, plot)
    for name in ALGORITHMS:
        if name != "ada-diag":
            click(browser, f"input[data-algorithm={name}]")
    assert browser.execute_script(LINES, plot) == []
    click(browser, "input[data-algorithm=ada-diag]")
    assert browser.execute_script(NAMES, plot) == ["ada-diag"]


def test_one_data_set_can_be_chosen(browser):
    click(browser, "[data-dataset-choice=splice]")
    assert [plot.get_attribute("data-dataset") for plot in plots(browser)] == ["splice", "splice"]
    click(browser, "[data-dataset-choice=all]")
    assert len(plots(browser)) == 2 * len(DATASETS)


def test_dragging_zooms_and_stays_while_algorithms_come_and_go(browser):
    plot = plots(browser)[0]
    browser.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", plot)
    drag = webdriver.ActionChains(browser).move_to_element_with_offset(plot, -40, -40)
    drag.click_and_hold().move_by_offset(90, 70).release().perform()
    zoomed = full_layout(browser, plot, "xaxis.range")
    assert 0 < zoomed[0] < zoomed[1] < 2
    click(browser, "input[data-algorithm=admm]")
    assert full_layout(browser, plot, "xaxis.range") == zoomed


def test_the_table_has_every_cell(browser):
    for dataset in DATASETS:
        for algorithm in ALGORITHMS:
            for figure in ("objective", "test_error", "seconds"):
                cell = f"td[data-dataset={dataset}][data-algorithm={algorithm}][data-figure={figure}]"
                (found,) = all_of(browser, cell)
                assert found.is_displayed() and found.text


def test_the_evidence_of_a_claim_opens_with_the_keyboard(browser):
    summary = all_of(browser, ".claim summary")[0]
    evidence = all_of(browser, ".claim .evidence")[0]
    assert not evidence.is_displayed()
    summary.send_keys("\n")
    assert evidence.is_displayed() and "0.3552 against 1.31" in evidence.text


@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("name", ["report.html", "hostile.html"])
def test_nothing_reaches_beyond_the_window(browser, pages, width, name):
    open_page(browser, pages / name, width)
    needed, there = (browser.execute_script(f"return document.documentElement.{w}Width") for w in ("scroll", "client"))
    assert needed <= there <= browser.execute_script("return innerWidth") == width
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true")
    assert browser.execute_script(BEYOND) == []
    assert plots(browser)


def test_hostile_text_is_shown_as_text(browser, pages):
    open_page(browser, pages / "hostile.html", 1400)
    assert studies.HOSTILE.split(" | ")[0] in all_of(browser, ".claim h3")[0].text
    assert len(browser.execute_script(LINES, plots(browser)[0])) == len(ALGORITHMS)


def test_the_page_and_its_plots_follow_the_colour_scheme(browser):
    plot = plots(browser)[0]
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = browser.execute_script(ground), full_layout(browser, plot, "font.color")
    set_scheme(browser, "dark")
    WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait
    WebDriverWait(browser, 5).until(lambda _: full_layout(browser, plot, "font.color") != light[1])
    assert browser.execute_script(ground) != light[0]


def test_without_javascript_all_but_the_curves_can_be_read(browser, pages):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    open_page(browser, pages / "report.html", 400)
    (cell,) = all_of(browser, "td[data-dataset=a9a][data-algorithm=ada-diag][data-figure=objective]")
    assert cell.is_displayed() and "0.3550 ± 0.0001" in cell.text
    assert all_of(browser, "figure svg circle")[0].is_displayed()
    assert not all_of(browser, "#controls")[0].is_displayed() and not plots(browser)
    (instead,) = all_of(browser, "noscript p")
    assert instead.is_displayed() and "figure.svg" in instead.text


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_of_the_demo(driver, tmp_path, width):
    from adasadmm.paper.report.showcase import write_showcase

    files = write_showcase(studies.showcase(), tmp_path)
    open_page(driver, files[0], width)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    assert driver.execute_script(BEYOND) == []
    pictures = all_of(driver, "main img")
    assert len(pictures) == 5
    for picture in pictures:
        assert picture.is_displayed() and picture.get_property("naturalWidth") > 100 and picture.get_attribute("alt")
    assert "Ada-SADMM, full" in all_of(driver, "table")[0].text
    assert "adasadmm fit rows.csv" in all_of(driver, "#next pre")[0].text
    assert driver.get_log("browser") == []
