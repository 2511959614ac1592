"""The views of the dashboard: every file in `app/views`."""

from pathlib import Path

APP = Path(__file__).parent.parent / "app"
VIEWS = sorted(path.stem for path in (APP / "views").glob("*.py") if path.stem != "__init__")
