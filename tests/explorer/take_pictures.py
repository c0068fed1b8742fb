"""Take the pictures of the explorer for the docs: ``python -m tests.explorer.take_pictures``.

The data are all of cinema; the browser is Debian's Chromium, with the fonts of this machine.
"""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np

from prefmover import Recommender, datasets
from prefmover.server.served import ServedModel
from tests.explorer.conftest import SECONDS, settled, still
from tests.server.conftest import listening
from tools.programs import FLAGS, MISSING, find_chromium

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
DESKTOP, PHONE = {"width": 1180, "height": 820}, {"width": 360, "height": 740}
TALL = {"width": 1180, "height": 1240}  # the text about the focused ribbon is above the plan, not over it
MINE = {"Alien": "5", "Spirited Away": "4", "Get Out": "4", "Shrek": "2"}
PICTURES = {
    "start": ("#/like-minded", DESKTOP, "light"),
    "like-minded": ("#/like-minded/petra-h", DESKTOP, "light"),
    "why": ("#/why/petra-h/bianca-b", DESKTOP, "light"),
    "why-dark": ("#/why/petra-h/bianca-b", TALL, "dark"),
    "recommended": ("#/recommended/petra-h/spirited-away-2001", DESKTOP, "light"),
    "together": ("#/together/petra-h,bianca-b,ada-b", DESKTOP, "light"),
    "try": ("#/try", DESKTOP, "light"),
    "item": ("#/item/alien-1979", DESKTOP, "light"),
    "map": ("#/map/users/petra-h", DESKTOP, "light"),
    "measures": ("#/measures/petra-h/bianca-b", DESKTOP, "light"),
    "phone": ("#/like-minded/petra-h", PHONE, "dark"),
}
TALLEST = {"together": 1300, "try": 1300, "recommended": 1250, "phone": 1100}


def main():
    """Serve cinema, open each page, and save a picture of it."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=1000 * SECONDS)
    path = find_chromium()
    if path is None:
        sys.exit(MISSING)
    handlers = ServedModel(Recommender().fit(datasets.load("cinema")))
    with listening(handlers) as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        for name, (route, size, scheme) in PICTURES.items():
            page = browser.new_page(viewport=size, color_scheme=scheme)
            page.goto(str(client.base_url).rstrip("/") + "/" + route)
            settled(page)
            page.evaluate("document.documentElement.style.scrollbarGutter = 'auto'")  # none is in the picture
            if name == "try":
                rate(page)
            if name == "why-dark":
                page.locator(".ribbon").nth(3).focus()
            save(still(page).screenshot(full_page=True), FOLDER / f"explorer-{name}.png", TALLEST.get(name))
            page.close()
        browser.close()


def rate(page):
    """Find a few films, and give them stars."""
    for film, stars in reversed(MINE.items()):
        page.locator("#pick-item").fill(film)
        page.locator("[role=option].active", has_text=film).wait_for()
        page.locator("#pick-item").press("Enter")
        page.locator("[role=slider]:focus").press(stars)
    page.locator(".plan").wait_for()
    settled(page)
    page.evaluate("document.activeElement.blur()")


def save(png, file, tallest=None):
    """Save a picture in the 256 colors that most of its pixels have, cropped at the bottom if it is tall."""
    from PIL import Image

    pixels = np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int64)[:tallest]
    colors, place, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    most = colors[np.argsort(-counts, kind="stable")[:256]]  # Pillow would merge those of a legend
    nearest = np.array([((color - most) ** 2).sum(axis=1).argmin() for color in colors], dtype=np.uint8)
    image = Image.fromarray(nearest[place.reshape(pixels.shape[:2])])
    image.putpalette(most.astype(np.uint8).tobytes())
    file.parent.mkdir(parents=True, exist_ok=True)
    image.save(file, optimize=True)
    print(file.name, image.size, f"{file.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
