"""Takes the pictures of docs/dashboard/ from the dashboard over the demo's database.

Usage: make screenshots
"""

import sys
from pathlib import Path

from dashboard import chromium, dashboard, first_paint

PICTURES = Path(__file__).resolve().parent / "dashboard"
SHOTS = {
    "overview": ("", 800),
    "step": ("step", 1250),
    "collectives": ("collectives", 1150),
    "speculation": ("speculation", 1750),
    "compare": ("compare", 950),
    "quality": ("quality", 800),
    "sql": ("sql", 800),
}
"""Path of a view, and how high its picture is: 1280 pixels wide."""

DARK = ("collectives",)
"""Shown as a browser that prefers dark has them."""


def main() -> None:
    """Write the picture of each view."""
    PICTURES.mkdir(exist_ok=True)
    with dashboard(sys.argv[1]) as address, chromium() as browser:
        for name, (view, height) in SHOTS.items():
            url = f"{address}/{view}?run=story_eagle3&other=story_baseline"
            scheme = "dark" if name in DARK else "light"
            page, _ = first_paint(browser, url, height=height, color_scheme=scheme)
            if name == "sql":
                page.get_by_role("button", name="Run", exact=True).click()
            page.wait_for_timeout(2500)  # charts draw after the page says that it is done
            page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
